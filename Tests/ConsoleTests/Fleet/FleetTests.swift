import BelfrySupport
import Testing

@testable import Console

/// The answers of several processes, put together, as time passes.
struct FleetTests {
    private var fleet = FleetFixture()

    @Test("A process that fails is away at once, with the reason and the age of its last answer")
    mutating func away() {
        fleet.list(1)
        fleet.answer(1)
        fleet.wait(3) { $0.fail(1) }
        let process = fleet.document.processes.first
        #expect(process?.state == .away && process?.trouble == "connection refused")
        #expect(process?.silenceSeconds == 3 && process?.role == "worker")
        fleet.answer(1)
        #expect(fleet.document.processes.first?.state == .answers)
    }

    @Test("An answer counts for ten seconds, then its figures leave the sums")
    mutating func freshness() {
        fleet.list(1, 2)
        fleet.answer(1) { $0.hold(0, lag: 5, waiting: 3) }
        fleet.answer(2) { $0.hold(1, lag: 7, waiting: 4) }
        #expect(fleet.document.lagRecords == 12 && fleet.document.waitingRecords == 7)
        fleet.wait(9) { $0.answer(2) { $0.hold(1, lag: 7, waiting: 4) } }
        #expect(fleet.document.lagRecords == 12)
        fleet.wait(1) { $0.answer(2) { $0.hold(1, lag: 7, waiting: 4) } }
        #expect(fleet.document.lagRecords == 7)
        #expect(fleet.document.processes.first?.state == .away)
    }

    @Test("A partition of which two workers tell counts once, with the larger figure")
    mutating func rebalance() {
        fleet.list(1, 2)
        fleet.answer(1) { $0.hold(0, lag: 5, waiting: 9) }
        fleet.answer(2) { $0.hold(0, lag: 8, waiting: 2) }
        fleet.wait(1)
        #expect(fleet.document.lagRecords == 8 && fleet.document.waitingRecords == 9)
        let partition = fleet.document.partitions.first
        #expect(partition?.holders.count == 2 && partition?.lagRecords == 8 && partition?.waitingRecords == 9)
    }

    @Test("Partitions of one number in two lanes are two, with the names of their Kafka topics")
    mutating func lanes() {
        fleet.list(1, 2)
        fleet.answer(1) {
            $0.hold(5, suffix: ".urgent", lag: 2, waiting: 1)
            $0.hold(5, lag: 30, waiting: 20)
        }
        fleet.answer(2) { $0.hold(5, suffix: ".bulk", lag: 400, waiting: 300) }
        fleet.wait(1)
        let document = fleet.document
        #expect(document.lagRecords == 432 && document.waitingRecords == 321)
        let names = ["push.requests", "push.requests.bulk", "push.requests.urgent"]
        #expect(document.partitions.map(\.kafkaTopic) == names && document.partitions.allSatisfy { $0.number == 5 })
        #expect(document.partitions.map(\.lagRecords) == [30, 400, 2])
        #expect(document.partitions.allSatisfy { $0.holders.count == 1 })
    }

    @Test("A partition that no process tells of any more is shown without a holder, with the time")
    mutating func unheld() {
        fleet.list(1)
        fleet.answer(1) { $0.hold(0, 1) }
        fleet.wait(1)
        fleet.wait(5) { $0.answer(1) { $0.hold(0) } }
        let partition = fleet.document.partitions.last
        #expect(partition?.number == 1 && partition?.holders == [] && partition?.unheldSeconds == 4)
        fleet.wait(1) { $0.answer(1) { $0.hold(0, 1) } }
        #expect(fleet.document.partitions.allSatisfy { $0.unheldSeconds == nil })
    }

    @Test("While no process answers, partitions do not count as unheld: the console may be cut off")
    mutating func cutOff() {
        fleet.list(1)
        fleet.answer(1) { $0.hold(0) }
        fleet.wait(1)
        fleet.wait(60) { $0.fail(1) }
        #expect(fleet.document.partitions.allSatisfy { $0.unheldSeconds == nil })
    }

    @Test("When no worker answers, their last figures stay, with their age; nothing is sent, and no process reads")
    mutating func silentWorkers() {
        fleet.list(1, 2)
        var sent = 0
        fleet.wait(10) { fleet in
            sent += 100
            fleet.answer(1) {
                $0.hold(0, lag: 7, waiting: 5)
                $0.serve("a") { $0.accepted = sent }
                $0.totals = ["sent": sent]
                $0.gateways = [.init(environment: "p", transport: "", addresses: [], connections: ["open": 1])]
            }
            fleet.answer(2) { $0.role = "registrar" }
        }
        #expect(fleet.document.workersSilentSeconds == nil && fleet.document.rates.sent > 0)
        fleet.wait(60) {
            $0.fail(1)
            $0.answer(2) { $0.role = "registrar" }
        }
        let document = fleet.document
        #expect(document.workersSilentSeconds == 60)
        #expect(document.lagRecords == 7 && document.waitingRecords == 5 && document.topics.count == 1)
        #expect(document.rates.sent == 0 && document.topics.first?.acceptedPerSecond == 0)
        #expect(document.gateways.count == 1 && document.gateways.first?.connections == [:])
        #expect(document.partitions.first?.holders == [] && (document.partitions.first?.unheldSeconds ?? 0) > 40)
        let text = "Nothing is sent: no worker answers. Apps, lag and waiting are those of 60 s ago."
        #expect(document.attention.first?.text == text && document.attention.first?.alert == "BelfryDown")
    }

    @Test("Rates are those of the last seconds, added up over processes")
    mutating func rates() {
        fleet.list(1, 2)
        var sent = 0
        fleet.wait(20) { fleet in
            sent += 100
            for number in 1...2 {
                fleet.answer(number) {
                    $0.totals = ["sent": sent, "records": sent / 10]
                    $0.outcomes = [
                        "confirmed": sent, "rejected": sent / 100, "superseded": sent / 100, "tombstoned": sent / 100,
                    ]
                }
            }
        }
        let rates = fleet.document.rates
        #expect(rates.sent == 200 && rates.records == 20)
        // A dead token is no trouble of the fleet.
        #expect(rates.accepted == 200 && rates.failed == 2 && rates.spared == 4)
        #expect(fleet.document.processes.map(\.perSecond) == [100, 100])
    }

    @Test("A process that was started anew is counted from its start, and no rate is negative")
    mutating func restart() {
        fleet.list(1)
        fleet.answer(1) { $0.outcomes = ["confirmed": 1_000_000] }
        fleet.wait(1) { $0.answer(1) { $0.outcomes = ["confirmed": 1_000_500] } }
        #expect(fleet.document.rates.accepted == 500)
        fleet.wait(1) { $0.answer(1) { $0.outcomes = ["confirmed": 30] } }
        #expect(fleet.document.rates.accepted == 0)
        fleet.wait(1) { $0.answer(1) { $0.outcomes = ["confirmed": 40] } }
        #expect(fleet.document.rates.accepted == 10)
        #expect(fleet.document.outcomes.first { $0.name == "confirmed" }?.lastHour == 540)
    }

    @Test("Outcomes that this console does not know share one row, among the failures")
    mutating func unknownOutcomes() {
        fleet.list(1)
        fleet.answer(1)
        #expect(!fleet.document.outcomes.contains { $0.name == "other" })
        fleet.wait(1) { $0.answer(1) { $0.outcomes = ["vanished": 3, "melted": 4] } }
        let other = fleet.document.outcomes.first { $0.name == "other" }
        #expect(other?.lastHour == 7 && other?.meaning == .failed)
        #expect(fleet.document.rates.failed == 7)
    }

    @Test("Times are those of the last minute, added up over processes, and not those since a process's start")
    mutating func delivery() {
        let live = DeliveryCounts.Way(transport: .http2, topicClass: .live)
        let lagging = DeliveryCounts.Way(transport: .binary, topicClass: .lagging)
        fleet.list(1, 2)
        // Slow ones before the console looked.
        var slow = 1000
        var fast = 0
        func look(_ fleet: inout FleetFixture) {
            for number in 1...2 {
                fleet.answer(number) {
                    $0.delivery[live] = .init(handedOver: TimeCounts([fast, 0, 0, 0, slow]))
                    $0.delivery[lagging] = .init(settled: TimeCounts([fast]))
                }
            }
        }
        look(&fleet)
        #expect(fleet.document.delivery == [])
        fleet.wait(5) { fleet in
            (slow, fast) = (slow + 10, fast + 1)
            look(&fleet)
        }
        #expect(fleet.document.delivery.map(\.transport) == ["http2", "binary"])
        #expect(fleet.document.delivery.map(\.topicClass) == ["live", "lagging"])
        #expect(fleet.document.delivery[0].settled == nil && fleet.document.delivery[1].handedOver == nil)
        #expect((fleet.document.delivery[0].handedOver?.median ?? 0) > 0.008)
        fleet.wait(70) { fleet in
            fast += 1
            look(&fleet)
        }
        #expect((fleet.document.delivery[0].handedOver?.percentile99 ?? 1) < 0.001)
        // Started anew: all counts fell.
        (slow, fast) = (0, 5)
        fleet.wait(1, each: look)
        #expect((fleet.document.delivery[0].handedOver?.percentile99 ?? 1) < 0.001)
    }

    @Test("A topic's figures are added up, the oldest ages and any stop count")
    mutating func topics() {
        fleet.list(1, 2)
        fleet.answer(1) {
            $0.serve("b") {
                $0.inFlight = 2
                $0.lagRecords = 10
                $0.laggingLanes = ["normal", "bulk"]
                $0.oldestUnconfirmedSeconds = 4
            }
            $0.serve("a")
        }
        fleet.answer(2) {
            $0.serve("b") {
                $0.stoppedBecause = "topic-refused"
                $0.lagRecords = 5
                $0.laggingLanes = ["urgent", "bulk"]
                $0.oldestUnconfirmedSeconds = 3
                $0.cursorAgeSeconds = 7
            }
            $0.serve("c") { $0.lagRecords = 20 }
        }
        let topics = fleet.document.topics
        #expect(topics.map(\.topic) == ["b", "c", "a"])
        #expect(topics.first?.lagRecords == 15 && topics.first?.inFlight == 2)
        #expect(topics.map(\.laggingLanes) == [["urgent", "normal", "bulk"], [], []])
        #expect(topics.first?.oldestUnconfirmedSeconds == 4 && topics.first?.cursorAgeSeconds == 7)
        #expect(topics.first?.stoppedBecause == "topic-refused" && topics.first?.stoppedAt == 1)
        #expect(fleet.document.oldestUnconfirmedSeconds == 4)
    }

    @Test("A lever counts when one worker has heard of it: any pause, the lowest pace, the latest discard")
    mutating func levers() {
        fleet.list(1, 2)
        fleet.answer(1) {
            $0.serve("busy") { $0.lagRecords = 9 }
            $0.serve("a") {
                $0.isPaused = true
                $0.pace = 7
                $0.discardsBefore = "2023-11-14T22:13:20.000Z"
            }
            $0.serve("stopped") { $0.stoppedBecause = "topic-refused" }
        }
        fleet.answer(2) {
            $0.serve("a") {
                $0.pace = 5
                $0.discardsBefore = "2023-11-14T22:13:21.000Z"
            }
        }
        let topics = fleet.document.topics
        #expect(topics.map(\.topic) == ["stopped", "a", "busy"])
        #expect(topics[1].isPaused && topics[1].pace == 5 && topics[1].discardsBefore == "2023-11-14T22:13:21.000Z")
        #expect(!topics[2].isPaused && topics[2].pace == nil && topics[2].discardsBefore == nil)
    }

    @Test("A lever's lanes are those that any worker tells, and none are named if it holds in all of them")
    mutating func lanesOfLevers() {
        fleet.list(1, 2)
        fleet.answer(1) {
            $0.serve("a") {
                $0.pausedLanes = ["bulk"]
                $0.pacedLanes = ["normal"]
                $0.discardingLanes = ["normal", "bulk"]
            }
        }
        fleet.answer(2) {
            $0.serve("a") {
                $0.pausedLanes = ["urgent"]
                $0.pacedLanes = ["normal", "bulk"]
                $0.discardingLanes = ["urgent"]
            }
            $0.serve("b") { $0.pausedLanes = ["urgent", "normal", "bulk"] }
        }
        let topics = fleet.document.topics
        #expect(topics.map(\.topic) == ["a", "b"])
        #expect(topics.map(\.pausedLanes) == [["urgent", "bulk"], []])
        #expect(topics.map(\.pacedLanes) == [["normal", "bulk"], []])
        #expect(topics.map(\.discardingLanes) == [[], []])
        fleet.answer(2) {
            $0.serve("a") {
                $0.pacedLanes = ["urgent", "normal", "bulk"]
                $0.discardingLanes = ["bulk"]
            }
        }
        #expect(fleet.document.topics.map(\.pacedLanes) == [[]])
        #expect(fleet.document.topics.map(\.discardingLanes) == [["normal", "bulk"]])
    }

    @Test("Among topics that work and keep up, the busiest come first")
    mutating func busiest() {
        fleet.list(1)
        var accepted = 0
        fleet.wait(3) { fleet in
            accepted += 10
            fleet.answer(1) {
                $0.serve("a") { $0.accepted = 5 }
                $0.serve("b") { $0.accepted = accepted }
            }
        }
        #expect(fleet.document.topics.map(\.topic) == ["b", "a"])
        #expect(fleet.document.topics.map(\.acceptedPerSecond) == [10, 0])
    }

    @Test("More topics than the page shows are counted")
    mutating func manyTopics() {
        fleet.list(1, 2)
        for number in 1...2 {
            fleet.answer(number) { answer in
                for topic in 0..<150 { answer.serve("t\(number)-\(topic)") }
                answer.omittedTopics = 7
            }
        }
        #expect(fleet.document.topics.count == ConsoleLimits.rows)
        #expect(fleet.document.omittedTopics == 100 + 7)
    }

    @Test("Connections are added up by state, and addresses named once")
    mutating func gateways() {
        fleet.list(1, 2)
        for number in 1...2 {
            fleet.answer(number) {
                $0.gateways = [
                    .init(environment: "p", transport: "http2", addresses: ["a:1"], connections: ["open": number])
                ]
            }
        }
        #expect(fleet.document.gateways.map(\.connections) == [["open": 3]])
        #expect(fleet.document.gateways.map(\.addresses) == [["a:1"]])
    }

    @Test("Of a certificate the earliest end counts, of a key the oldest token, of a list the youngest reading")
    mutating func ends() {
        fleet.list(1, 2)
        let name = RoleAnswer.TopicName(topic: "a", environment: "p")
        for number in 1...2 {
            fleet.answer(number) {
                $0.certificates = [.init(name: name, daysLeft: 100 * number)]
                $0.keys = [.init(team: "t", key: "k", tokenAgeSeconds: 10 * Double(number))]
                $0.harvests = [
                    .init(
                        name: name,
                        ageSeconds: 100 * Double(number),
                        step: number == 1 ? "waiting" : "leasing",
                        holdsLease: number == 1
                    )
                ]
            }
        }
        #expect(fleet.document.certificates.map(\.daysLeft) == [100])
        #expect(fleet.document.keys.map(\.tokenAgeSeconds) == [20])
        #expect(fleet.document.harvests.map(\.ageSeconds) == [100])
        #expect(fleet.document.harvests.map(\.step) == ["waiting"])
        #expect(fleet.document.harvests.map(\.holder) == ["10.0.0.1:9464"])
    }

    @Test("A process that its name does not lead to any more counts no longer, is shown for ten minutes, and goes")
    mutating func gone() {
        fleet.list(1, 2)
        fleet.answer(1) { $0.hold(0, lag: 5) }
        fleet.list(2)
        #expect(fleet.document.lagRecords == 0)
        #expect(fleet.document.processes.map(\.state) == [.gone, .new])
        fleet.fail(1)
        fleet.answer(1) { $0.hold(0, lag: 5) }
        #expect(fleet.document.processes.first?.state == .gone)
        fleet.wait(600)
        fleet.list(2)
        #expect(fleet.document.processes.map(\.address) == ["10.0.0.2:9464"])
    }

    @Test("A process that comes back under its address is asked anew")
    mutating func back() {
        fleet.list(1)
        fleet.answer(1)
        fleet.list(2)
        fleet.list(1, 2)
        fleet.answer(1)
        #expect(fleet.document.processes.map(\.state) == [.answers, .new])
    }

    @Test("Addresses that come and go for ever keep no more memory than twice the limit")
    mutating func churn() {
        for round in 0..<50 {
            let places = (0..<100).map { HostPort(host: "10.\(round).0.\($0)", port: 1) }
            fleet.fleet.setTargets(places, troubles: [], now: fleet.now)
            for place in places { fleet.fleet.took(.success(FleetFixture.worker()), of: place, now: fleet.now) }
        }
        #expect(fleet.document.processes.count <= 2 * ConsoleLimits.processes)
        #expect(fleet.document.processes.count { $0.state == .answers } == 100)
    }
}
