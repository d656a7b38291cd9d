import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on a worker")
struct WorkerReportTests {
    /// - Parameter instruments: with which it was to count.
    private func report(
        _ name: ScenarioPlan.Name = .single,
        _ instruments: Set<Instrument> = [.allocations, .instructions]
    ) throws -> WorkerReport {
        WorkerReport(plan: try #require(ScenarioPlan(name)), notifications: 300_000, instruments: instruments)
    }

    /// A report in which every contender of a plan was measured, with a 1.
    private func whole(_ name: ScenarioPlan.Name, _ instruments: Set<Instrument>) throws -> WorkerReport {
        let plan = try #require(ScenarioPlan(name))
        var report = try report(name, instruments)
        for contender in plan.contenders {
            report[contender.role].samples = samples([1], [1])
            report[contender.role].residentMiB = 1
        }
        report.inFlight = 1
        if instruments.contains(.allocations) {
            for contender in plan.allocating { report[contender.role].allocations = 1 }
        }
        if instruments.contains(.instructions) {
            for contender in plan.executing { report[contender.role].instructions = 1 }
        }
        return report
    }

    private func samples(_ rates: [Double], _ cpu: [Double]) -> ContenderSamples {
        var samples = ContenderSamples()
        for rate in rates { samples.rate.add(rate) }
        for cpu in cpu { samples.cpuMicroseconds.add(cpu) }
        return samples
    }

    @Test("The line is JSON with numbers of few digits, and with fields of what took part alone")
    func line() throws {
        var report = try report(.single, [])
        report[.worker].samples = samples([400_000.4], [1.23456])
        report[.floor].samples = samples([800_000], [0.6])
        report[.worker].residentMiB = 81.26
        report[.worker].restMilliseconds = 25.04
        let line = try report.line()
        #expect(!line.contains("\n"))
        #expect(line.contains(#""worker_cpu_us":1.235,"#))
        #expect(line.contains(#""floor_cpu_us":0.6,"#))
        #expect(line.contains(#""rate":400000,"#))
        #expect(line.contains(#""rate_spread":[400000,400000],"#))
        #expect(line.contains(#""floor_rate":800000,"#))
        #expect(line.contains(#""ratio":2.06"#))
        #expect(line.contains(#""rate_ratio":0.5"#))
        #expect(line.contains(#""resident_mib":81.3"#))
        #expect(line.contains(#""rest_ms":25,"#))
        #expect(line.contains(#""scenario":"single""#))
        for absent in ["beside", "sandbox", "one_", "bare", "allocations\":", "instructions", "in_flight"] {
            #expect(!line.contains(absent))
        }
    }

    @Test("Another version's worker is in the report when it took part, with the ratio of this one to it")
    func beside() throws {
        var report = try report()
        report[.worker].samples = samples([1, 1], [1.5, 3])
        report[.beside].samples = samples([1, 1], [2, 4.00049])
        #expect(try report.line().contains(#""beside_cpu_us":3,"#))
        #expect(try report.line().contains(#""beside_ratio":0.75,"#))
    }

    @Test("Every target that is missed is named")
    func targets() throws {
        var report = try report(.single, [.allocations])
        report[.worker].samples = samples([250], [1.3])
        report[.floor].samples = samples([100], [1])
        report[.worker].allocations = 1.4
        report[.floor].allocations = 1
        #expect(report.missedTargets.isEmpty)
        #expect(try report.line().contains(#""passed":true"#))
        report[.worker].allocations = 1.5
        #expect(report.missedTargets == ["allocations_beyond below 0.5"])
        report[.worker].samples = samples([249], [1.31])
        #expect(
            report.missedTargets
                == ["ratio at most 1.3", "rate_ratio at least 2.5", "allocations_beyond below 0.5"]
        )
        #expect(try report.line().contains(#""passed":false"#))
    }

    @Test("A run that has not measured what it was to measure has not passed")
    func notMeasured() throws {
        var report = try report()
        report[.worker].samples = samples([250], [1.3])
        report[.floor].samples = samples([100], [1])
        #expect(
            report.missedTargets == [
                "allocations_beyond below 0.5: not measured", "shards_instructions_ratio at most 1.05: not measured",
            ]
        )
        #expect(try report.line().contains(#""passed":false"#))
    }

    @Test("A target that was not asked for is not judged")
    func notAsked() throws {
        var report = try report(.single, [])
        report[.worker].samples = samples([250], [1.3])
        report[.floor].samples = samples([100], [1])
        #expect(report.missedTargets.isEmpty)
        #expect(report.table.contains("target allocations_beyond below 0.5: not asked for"))
        #expect(WorkerScenario.Request(rounds: 1, allocations: 1).instruments == [.allocations])
        #expect(WorkerScenario.Request(rounds: 1, instructions: 1).instruments == [.instructions])
    }

    @Test("The contenders of a scenario measure all of its targets", arguments: ScenarioPlan.Name.allCases)
    func complete(name: ScenarioPlan.Name) throws {
        guard name != .languages else { return }
        for instruments: Set<Instrument> in [[], [.allocations], [.instructions], [.allocations, .instructions]] {
            let missed = try whole(name, instruments).missedTargets
            #expect(!missed.contains { $0.hasSuffix("not measured") }, "\(missed)")
        }
    }

    @Test("Every field stands in the help", arguments: ScenarioPlan.Name.allCases)
    func explained(name: ScenarioPlan.Name) throws {
        if name == .languages {
            let line = try LanguagesReport(languages: 12, notifications: 500).line()
            #expect(try LanguagesReport.fields.unexplained(inLine: line) == [])
        } else {
            var report = try whole(name, [.allocations, .instructions])
            (report.heapBytesInFlight, report.frameBytes, report[.floor].restMilliseconds) = (1, 1, 1)
            report[.beside].samples = samples([1], [1])
            #expect(try WorkerReport.fields.unexplained(inLine: report.line()) == [])
        }
    }

    @Test("In fan-out allocations are compared with the program in C that takes the same records")
    func bare() throws {
        var report = try whole(.fanout, [.allocations])
        report[.worker].allocations = 0.05
        report[.bare].allocations = 0.01
        report[.floor].allocations = 9
        #expect(report.missedTargets.contains("allocations_beyond below 0.02"))
        report[.worker].allocations = 0.02
        #expect(!report.missedTargets.contains("allocations_beyond below 0.02"))
    }

    @Test("Memory may be 128 MiB, and 128 bytes for each notification in flight")
    func memory() throws {
        var report = try whole(.fanout, [])
        report[.worker].residentMiB = 160
        report.inFlight = 262_144
        #expect(!report.missedTargets.contains("memory_ratio at most 1"))
        report.inFlight = 262_143
        #expect(report.missedTargets.contains("memory_ratio at most 1"))
    }

    @Test("A second shard may cost a twentieth of the instructions")
    func shards() throws {
        var report = try whole(.fanout, [.instructions])
        report[.worker].instructions = 1050
        report[.oneShard].instructions = 1000
        #expect(!report.missedTargets.contains("shards_instructions_ratio at most 1.05"))
        report[.worker].instructions = 1051
        #expect(report.missedTargets.contains("shards_instructions_ratio at most 1.05"))
    }

    @Test("The table has a row for each measure and each target, in columns")
    func table() throws {
        var report = try report()
        report[.worker].samples = samples([300, 100, 200], [1.5, 1.5, 1.5])
        report[.floor].samples = samples([100, 100, 100], [1, 1, 1])
        let lines = report.table.split(separator: "\n").map(String.init)
        #expect(lines[0] == "single: 3 rounds of 300000 notifications")
        #expect(lines[1] == "  measure                             median      smallest       largest")
        #expect(lines[2] == "  rate                                   200           100           300")
        #expect(lines.contains("  ratio                                 1.50"))
        #expect(lines.contains("  target ratio at most 1.3: MISSED"))
        #expect(lines.contains("  target rate_ratio at least 2.5: MISSED"))
        #expect(lines.contains("  target allocations_beyond below 0.5: NOT MEASURED"))
    }
}

@Suite("Scenarios of a worker")
struct ScenarioPlanTests {
    @Test("Every scenario has its worker first, and something to compare it with")
    func contenders() throws {
        for name in ScenarioPlan.Name.allCases where name != .languages {
            let plan = try #require(ScenarioPlan(name))
            #expect(plan.contenders[0].role == .worker)
            #expect(plan.contenders.count >= 2)
            #expect(plan.notifications <= plan.notificationLimit)
            for target in plan.targets { #expect(target.text.hasPrefix(target.field)) }
        }
        #expect(ScenarioPlan(.languages) == nil)
    }

    @Test("Fan-out has eight partitions, two shards and the worker's defaults")
    func fanOut() throws {
        let plan = try #require(ScenarioPlan(.fanout))
        #expect(plan.contenders[0].program == .worker(WorkerTraits()))
        #expect(plan.contenders[0].partitions == 8)
        #expect(plan.notificationLimit == 400_000)
        #expect(plan.whole(60_499) == 60_000)
        #expect(plan.whole(1) == 500)
        #expect(!plan.hasOneKindOfRecords)
    }

    @Test("Another version's worker takes the same records as the one under test")
    func beside() throws {
        let plan = try #require(ScenarioPlan(.single)).beside("/older/belfry")
        let other = try #require(plan.contenders.last)
        #expect(other.role == .beside)
        #expect(other.belfry == "/older/belfry")
        #expect(other.records == plan.contenders[0].records)
        #expect(plan.allocating.count == 2, "its counts are not taken")
        #expect(!plan.asksRedis)
        #expect(try #require(ScenarioPlan(.dedupe)).asksRedis)
        #expect(try #require(ScenarioPlan(.singleLookup)).asksRedis)
    }

    @Test("Records of several bundles have a bundle ID each, and one key")
    func bundles() {
        #expect(ContenderPlan.Records.bundles(3).bundles.last == "com.example.bench-2")
        #expect(ContenderPlan.Records.bundles(3).spread == nil)
        #expect(ContenderPlan.Records.fanOut.bundles == ["com.example.bench"])
    }
}

@Suite("Counts of allocations and instructions")
struct EventCounterTests {
    @Test("Two numbers of a file are allocations and bytes held")
    func allocations() {
        var bytes = Data([7, 1, 0, 0, 0, 0, 0, 0])
        #expect(AllocationFile.counts(in: bytes) == nil)
        bytes += [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(AllocationFile.counts(in: bytes) == .init(allocations: 263, heldBytes: -1))
    }

    @Test("The instructions of a dump are its summary")
    func instructions() {
        #expect(Callgrind.instructions(in: "positions: line\nevents: Ir\nsummary: 14800556\n\nob=(5)") == 14_800_556)
        #expect(Callgrind.instructions(in: "events: Ir\n") == nil)
    }

    @Test("An order to callgrind has a time limit, and goes through the pipes that callgrind was told to make")
    func orders() throws {
        let output = URL(fileURLWithPath: "/tmp/counts")
        let order = Callgrind.order("zero", to: 7, output: output)
        #expect(order.last == "zero")
        #expect(order.contains("--pid=7"))
        #expect(order.contains { $0.hasPrefix("--cmd-time-out=") })
        let pipes = try #require(order.first { $0.hasPrefix("--vgdb-prefix=") })
        #expect(pipes == "--vgdb-prefix=/tmp/vgdb")
        #expect(Callgrind.arguments(output: output).contains(pipes))
    }

    @Test("A metric is summed over its labels, and one with a longer name is another")
    func metrics() {
        let text = """
            # HELP in_flight Notifications.
            in_flight{topic="a"} 3
            in_flight{topic="b"} 4
            in_flight_total 9
            """
        #expect(MetricNumbers(text).sum(of: "in_flight") == 7)
    }
}
