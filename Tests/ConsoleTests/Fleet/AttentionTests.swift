import PipelineCore
import Testing

@testable import Console

/// The matters that the page tells first.
struct AttentionTests {
    private var fleet = FleetFixture()

    /// The text of each matter, its level, the part of the page to which it leads, and its entry, which is there.
    private func expect(_ level: Attention.Level, _ part: String, _ text: String, alert: String? = nil) {
        let matter = fleet.document.attention.first { $0.text == text }
        #expect(matter == Attention(level: level, text: text, part: part, alert: alert), "\(fleet.matters())")
        #expect(alert.map { Runbook.texts["/runbook/\($0)"] != nil } ?? true, "\(alert ?? "")")
    }

    @Test("A fleet that is well has nothing to tell")
    mutating func well() {
        fleet.list(1, 2)
        fleet.wait(40) { fleet in
            for number in 1...2 {
                fleet.answer(number) {
                    $0.hold(number)
                    $0.serve("a")
                    $0.controlsAgeSeconds = 60
                    $0.gateways = [
                        .init(environment: "p", transport: "", addresses: [], connections: ["open": 1, "waiting": 1])
                    ]
                    $0.certificates = [.init(name: .init(topic: "a", environment: "p"), daysLeft: 31)]
                    $0.keys = [.init(team: "T", key: "K", tokenAgeSeconds: 3600)]
                    $0.harvests = [
                        .init(name: .init(topic: "a", environment: "p"), ageSeconds: 10_799, step: "", holdsLease: true)
                    ]
                }
            }
        }
        #expect(fleet.matters() == [])
    }

    @Test("A process that is away is told with the reason and the age of its last answer")
    mutating func away() {
        fleet.list(1, 2)
        fleet.answer(1)
        fleet.wait(2) {
            $0.fail(1)
            $0.answer(2)
        }
        let text = "worker 10.0.0.1:9464 is away: connection refused, last answer 2 s ago."
        expect(.bad, "processes", text, alert: "BelfryDown")
    }

    @Test("One that never answered is told without a role")
    mutating func neverAnswered() {
        fleet.list(1, 2)
        fleet.answer(2)
        fleet.fail(1)
        expect(.bad, "processes", "10.0.0.1:9464 is away: connection refused, never answered.", alert: "BelfryDown")
    }

    @Test("When no process answers, that is one matter and not one a process")
    mutating func nobody() {
        fleet.list(1, 2)
        fleet.fail(1)
        fleet.fail(2)
        #expect(fleet.matters() == ["No process answers: connection refused."])
    }

    @Test("A process whose name does not lead to it any more is no matter: workers go")
    mutating func scaledDown() {
        fleet.list(1, 2)
        fleet.answer(1)
        fleet.answer(2)
        fleet.list(2)
        #expect(fleet.matters() == [])
    }

    @Test("A role that is not ready says why")
    mutating func notReady() {
        fleet.list(1)
        fleet.answer(1) {
            $0.isReady = false
            $0.obstacles = ["it drains", "it waits"]
        }
        expect(.warn, "processes", "worker 10.0.0.1:9464 is not ready: it drains; it waits.", alert: "BelfryNotReady")
    }

    @Test("Two versions of the program in one fleet are told")
    mutating func versions() {
        fleet.list(1, 2, 3, 4)
        fleet.answer(1) { $0.programVersion = "2" }
        fleet.answer(2)
        // One that does not tell its version, and one that has gone, are none.
        fleet.answer(3) { $0.programVersion = "" }
        fleet.answer(4) { $0.programVersion = "3" }
        fleet.fail(4)
        expect(.warn, "processes", "Processes of 2 versions run: 1, 2.")
    }

    @Test("A name that cannot be resolved is told with the resolver's words")
    mutating func names() {
        fleet.list(troubles: ["dns:workers:9464: Name or service not known"])
        expect(.bad, "processes", "Cannot resolve dns:workers:9464: Name or service not known.")
    }

    @Test("Topics that do not work are told by reason, in words, with the runbook's entry")
    mutating func topics() {
        fleet.list(1)
        fleet.answer(1) { answer in
            for name in ["a", "b", "c", "d", "e"] { answer.serve(name) { $0.stoppedBecause = "tokens-doubted" } }
            answer.serve("x") { $0.stoppedBecause = "moon" }
        }
        let doubted =
            "a (production), b (production), c (production) and 2 more do not work: too many tokens are called invalid; "
            + "they may be of another environment."
        expect(.bad, "topics", doubted, alert: "BelfryTokensDoubted")
        expect(.bad, "topics", "x (production) does not work: moon.")
    }

    @Test("A paused topic is told as an operator's will, whether it works or not")
    mutating func pauses() {
        fleet.list(1)
        fleet.answer(1) { answer in
            answer.serve("a") { $0.isPaused = true }
            answer.serve("b") {
                $0.pace = 5
                $0.discardsBefore = "2023-11-14T22:13:20.000Z"
            }
        }
        expect(.warn, "topics", "a (production) is paused by an operator.", alert: "BelfryTopicPaused")
        #expect(fleet.matters().count == 1)
        fleet.answer(1) { answer in
            for name in ["a", "b"] {
                answer.serve(name) {
                    $0.isPaused = true
                    $0.stoppedBecause = "topic-refused"
                }
            }
        }
        let text = "a (production), b (production) are paused by an operator."
        expect(.warn, "topics", text, alert: "BelfryTopicPaused")
        #expect(fleet.matters(.bad).count == 1)
    }

    @Test("A topic that is paused in some lanes is told with these")
    mutating func pausesOfLanes() {
        fleet.list(1)
        fleet.answer(1) { answer in
            answer.serve("a") {
                $0.isPaused = true
                $0.pausedLanes = ["bulk"]
            }
        }
        expect(.warn, "topics", "a (production) in lane bulk is paused by an operator.", alert: "BelfryTopicPaused")
        fleet.answer(1) { answer in
            for (name, lanes) in [("a", ["urgent", "bulk"]), ("b", ["urgent", "normal", "bulk"])] {
                answer.serve(name) {
                    $0.isPaused = true
                    $0.pausedLanes = lanes
                }
            }
        }
        let text = "a (production) in lanes urgent and bulk, b (production) are paused by an operator."
        expect(.warn, "topics", text, alert: "BelfryTopicPaused")
    }

    @Test("Workers that have not heard of levers for a minute are told while they answer, in one line")
    mutating func unheardLevers() {
        fleet.list(1, 2, 3)
        fleet.answer(1) { $0.controlsAgeSeconds = 60.5 }
        fleet.answer(2) { $0.controlsAgeSeconds = 2 }
        // One of an earlier version.
        fleet.answer(3)
        let alert = "BelfryLeversUnheard"
        let one = "worker 10.0.0.1:9464 does not hear of levers: a pause would not hold there."
        expect(.bad, "processes", one, alert: alert)
        #expect(fleet.matters() == [one])
        fleet.answer(2) { $0.controlsAgeSeconds = 300 }
        let two = "worker 10.0.0.1:9464, worker 10.0.0.2:9464 do not hear of levers: a pause would not hold there."
        expect(.bad, "processes", two, alert: alert)
        fleet.fail(2)
        expect(.bad, "processes", one, alert: alert)
    }

    @Test("Processes that need a restart for the same keys are told in one line, with the keys")
    mutating func restarts() {
        fleet.list(1, 2, 3)
        for number in 1...2 { fleet.answer(number) { $0.restartNeeded = ["worker.batch", "worker.shards"] } }
        fleet.answer(3) { $0.restartNeeded = ["a", "b", "c", "d"] }
        let alert = "BelfryRestartNeeded"
        let two = "worker 10.0.0.1:9464, worker 10.0.0.2:9464 need a restart for worker.batch, worker.shards."
        expect(.warn, "processes", two, alert: alert)
        expect(.warn, "processes", "worker 10.0.0.3:9464 needs a restart for a, b, c and 1 more.", alert: alert)
        #expect(fleet.matters().count == 2)
        for number in 1...3 { fleet.answer(number) }
        #expect(fleet.matters() == [])
    }

    @Test("Every reason that a worker gives has words and an entry of the runbook")
    func reasons() {
        for reason in AppHealth.Reason.allCases.map(\.rawValue) + ["certificate-missing"] {
            let entry = StopReason.alert(for: reason).flatMap { Runbook.texts["/runbook/\($0)"] }
            #expect(StopReason.words(for: reason) != reason && entry != nil, "\(reason)")
        }
    }

    @Test("Partitions that stand, and those that no process reads for half a minute, are told")
    mutating func partitions() {
        fleet.list(1)
        fleet.answer(1) { $0.hold(0, 1, 2) }
        fleet.wait(1)
        func answer(_ fleet: inout FleetFixture) {
            fleet.answer(1) {
                $0.hold(0, 1)
                $0.partitions[1].isStanding = true
            }
        }
        fleet.wait(30, each: answer)
        let standing = "Stands, its commit is missing or not understood: push.requests[1]."
        expect(.bad, "partitions", standing, alert: "BelfryPartitionStands")
        #expect(fleet.matters().count == 1)
        fleet.wait(1, each: answer)
        expect(.bad, "partitions", "No process reads push.requests[2].")
    }

    @Test("Connections that wait while none is open are told")
    mutating func gateways() {
        fleet.list(1)
        fleet.answer(1) {
            $0.gateways = [
                .init(environment: "p", transport: "", addresses: [], connections: ["connecting": 1, "waiting": 2])
            ]
        }
        let text = "No connection to p is open, 3 wait or are being made."
        expect(.bad, "gateways", text, alert: "BelfryConnectionsWait")
    }

    @Test(
        "A certificate is told from 30 days on, and is urgent in its last week",
        arguments: [
            (30, Attention.Level.warn, "ends in 30 days"), (8, .warn, "ends in 8 days"), (7, .bad, "ends in 7 days"),
            (1, .bad, "ends in 1 day"), (0, .bad, "ends in less than a day"), (-1, .bad, "has ended"),
        ]
    )
    func certificates(days: Int, level: Attention.Level, words: String) {
        var test = AttentionTests()
        test.fleet.list(1)
        test.fleet.answer(1) { $0.certificates = [.init(name: .init(topic: "a", environment: "p"), daysLeft: days)] }
        test.expect(level, "certificates", "The certificate of a (p) \(words).", alert: "BelfryCertificateEnds")
    }

    @Test("A provider token older than an hour is told")
    mutating func keys() {
        fleet.list(1)
        fleet.answer(1) { $0.keys = [.init(team: "T", key: "K", tokenAgeSeconds: 3601)] }
        let text = "The token of key K (team T) is older than an hour: it is refused."
        expect(.bad, "certificates", text, alert: "BelfryProviderTokens")
    }

    @Test("A feedback list that was not read for three hours is told, and for a day it is urgent")
    mutating func harvests() {
        fleet.list(1)
        fleet.answer(1) {
            $0.harvests = [
                .init(name: .init(topic: "a", environment: "p"), ageSeconds: 10_800, step: "", holdsLease: true),
                .init(name: .init(topic: "b", environment: "p"), ageSeconds: 86_400, step: "", holdsLease: true),
            ]
        }
        let alert = "BelfryHarvestOverdue"
        expect(.warn, "harvests", "The feedback list of a (p) was last read 3 hours ago.", alert: alert)
        expect(.bad, "harvests", "The feedback list of b (p) was last read 24 hours ago.", alert: alert)
    }

    @Test("Dead letters and records in wrong partitions are told while they come")
    mutating func counts() {
        fleet.list(1)
        fleet.answer(1) { $0.totals = ["deadLetters": 1, "misplacedRecords": 1] }
        #expect(fleet.matters() == [])
        fleet.wait(1) { $0.answer(1) { $0.totals = ["deadLetters": 2, "misplacedRecords": 2] } }
        expect(.warn, "outcomes", "Records are refused and go to push.dead-letters.", alert: "BelfryDeadLetters")
        let text = "Records are in wrong partitions: a publisher uses another partitioner."
        expect(.warn, "partitions", text, alert: "BelfryRecordsMisplaced")
    }

    @Test("Advice that wants something done is a matter, too")
    mutating func advice() {
        fleet.list(1)
        fleet.answer(1) { $0.hold(0, waiting: 5000) }
        #expect(fleet.document.attention.map(\.part) == ["scaling"])
        #expect(fleet.document.attention.map(\.level) == [.bad])
        fleet.wait(1) {
            $0.answer(1) {
                $0.hold(0, waiting: 5000)
                $0.totals = ["records": 10]
            }
        }
        #expect(fleet.document.attention.map(\.level) == [.warn])
    }

    @Test("What is bad comes first, and what is too much is counted")
    mutating func order() {
        fleet.list(1)
        fleet.answer(1) { answer in
            answer.isReady = false
            answer.certificates = (0..<40).map { .init(name: .init(topic: "t\($0)", environment: "p"), daysLeft: $0) }
        }
        let matters = fleet.document.attention
        #expect(matters.count == Attention.limit && matters.last?.text == "3 more matters.")
        let levels = matters.map(\.level)
        #expect(levels.prefix(8).allSatisfy { $0 == .bad } && levels.dropFirst(8).allSatisfy { $0 == .warn })
    }
}
