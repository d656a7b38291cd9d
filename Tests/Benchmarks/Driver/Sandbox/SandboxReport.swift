import Workbench

/// The result of the sandbox's scenario.
struct SandboxReport {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, devices, notifications, rounds: What was measured; notifications of a round.
        accepted_per_core_s: Notifications by seconds of CPU time: 1,000,000.
        cpu_us, floor_cpu_us, floor_ratio: CPU microseconds per notification, of sandbox and sink, and how many times \
        the sink's the sandbox takes: 2.
        rate, floor_rate: By the clock on the wall, the sender on the same machine.
        beside_cpu_us, beside_ratio: With --beside: its CPU microseconds per notification; how many times these the \
        sandbox takes.
        startup_s, connections_held, resident_mib: Start; gateway connections open at once; largest resident set: 5; \
        2,000; 1,024.
        """
    )

    let devices: Int
    let notifications: Int
    var sandbox = ContenderSamples()
    var floor = ContenderSamples()
    /// Of the sandbox of another version; without values if none took part.
    var beside = ContenderSamples()
    /// From the start of the process to the line that says it is ready.
    var startupSeconds = 0.0
    /// Gateway connections that were open at once, each of which had a notification accepted.
    var connectionsHeld = 0
    /// The largest resident set, all of the above included, in MiB.
    var residentMiB = 0.0

    /// By CPU time: what one core would accept if it did nothing else.
    var acceptedPerCoreSecond: Double {
        sandbox.cpuMicroseconds.median > 0 ? 1e6 / sandbox.cpuMicroseconds.median : 0
    }

    /// CPU time of a notification as a multiple of the raw sink's.
    var ratio: Double { sandbox.cpuMicroseconds.medianRatio(to: floor.cpuMicroseconds) }

    /// CPU time of a notification as a multiple of the other version's; nil if none took part.
    var besideRatio: Double? {
        beside.cpuMicroseconds.values.isEmpty ? nil : sandbox.cpuMicroseconds.medianRatio(to: beside.cpuMicroseconds)
    }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (acceptedPerCoreSecond >= 1_000_000, "1,000,000 accepted per second and core"),
            (ratio <= 2, "twice the CPU time of a raw TLS sink"),
            (residentMiB <= 1024, "1 GiB resident"),
            (startupSeconds <= 5, "start-up within 5 s"),
            (connectionsHeld >= 2000, "2,000 gateway connections held at once"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: "sandbox")
        line.add("devices", devices)
        line.add("notifications", notifications)
        line.add("rounds", sandbox.rate.values.count)
        line.add("accepted_per_core_s", acceptedPerCoreSecond, digits: 0)
        line.add(sandbox, rate: "rate", cpu: "cpu_us")
        line.add(floor, rate: "floor_rate", cpu: "floor_cpu_us")
        line.add("floor_ratio", ratio, digits: 2)
        if let besideRatio {
            line.add("beside_cpu_us", beside.cpuMicroseconds.median, digits: 3)
            line.add("beside_ratio", besideRatio, digits: 3)
        }
        line.add("startup_s", startupSeconds, digits: 2)
        line.add("connections_held", connectionsHeld)
        line.add("resident_mib", residentMiB, digits: 1)
        return try line.text()
    }
}
