import BelfrySupport
import PipelineCore

@testable import Console

/// A fleet, with a clock in the test's hand.
struct FleetFixture {
    var fleet = Fleet()
    private(set) var now = MonotonicTime(nanoseconds: 1_000_000_000_000)

    static func place(_ number: Int) -> HostPort { HostPort(host: "10.0.0.\(number)", port: 9464) }

    /// Names the processes that there are.
    mutating func list(_ numbers: Int..., troubles: [String] = []) {
        fleet.setTargets(numbers.map(Self.place), troubles: troubles, now: now)
    }

    /// A worker's answer.
    static func worker(_ change: (inout RoleAnswer) -> Void = { _ in }) -> RoleAnswer {
        var answer = RoleAnswer(role: "worker")
        answer.programVersion = "1"
        answer.isReady = true
        change(&answer)
        return answer
    }

    mutating func answer(_ number: Int, _ change: (inout RoleAnswer) -> Void = { _ in }) {
        fleet.took(.success(Self.worker(change)), of: Self.place(number), now: now)
    }

    mutating func fail(_ number: Int, _ trouble: String = "connection refused") {
        fleet.took(.failure(AnswerTrouble(trouble)), of: Self.place(number), now: now)
    }

    /// Time passes, a look a second.
    mutating func wait(_ seconds: Int, each: (inout FleetFixture) -> Void = { _ in }) {
        for _ in 0..<seconds {
            now = now + .seconds(1)
            each(&self)
            fleet.tick(now: now)
        }
    }

    var document: FleetDocument { fleet.document(now: now, unixSeconds: 0) }

    func matters(_ level: Attention.Level? = nil) -> [String] {
        document.attention.filter { level == nil || $0.level == level }.map(\.text)
    }
}

extension RoleAnswer {
    /// - Parameter suffix: of the lane's Kafka topic.
    mutating func hold(_ numbers: Int..., suffix: String = "", lag: Int = 0, waiting: Int = 0) {
        partitions += numbers.map {
            Partition(kafkaTopic: "push.requests" + suffix, number: $0, lagRecords: lag, waitingRecords: waiting)
        }
    }

    mutating func serve(_ topic: String, _ change: (inout Topic) -> Void = { _ in }) {
        var served = Topic(name: TopicName(topic: topic, environment: "production"))
        change(&served)
        topics.append(served)
    }
}
