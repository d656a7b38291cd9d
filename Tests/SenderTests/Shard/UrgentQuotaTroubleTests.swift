import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import RequestLanes
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Shards of the urgent lane that cannot move at once what is over a quota, or must not.
@Suite("Urgent quotas in trouble")
struct UrgentQuotaTroubleTests {
    private typealias Bench = ShardBench

    private static let tooLarge = KafkaError.ofProducer("MSG_SIZE_TOO_LARGE", 10)
    private static let notAuthorized = KafkaError.ofProducer("TOPIC_AUTHORIZATION_FAILED", 29)

    private static func copies(_ bench: Bench) -> [CollectingProducer.Record] {
        bench.producer.records(of: "push.requests")
    }

    private static func accepted(_ bench: Bench) -> [UInt8] { bench.gateway.accepted(of: Bench.news) }

    private static func unacknowledged(_ bench: Bench) -> Int { bench.shard.stages.outcomes.unacknowledged }

    /// The broker's reports on all copies.
    private static func report(_ error: KafkaError?, to bench: Bench) {
        for copy in copies(bench) { bench.shard.delivered(copy.number, error: error) }
    }

    // MARK: Partitions that may be another's

    /// A shard whose host was suspended, with a record to be moved.
    private static func suspended() throws -> Bench {
        let bench = Bench.urgent(quota: 0)
        bench.wait(milliseconds: 1000)
        bench.group.answersCommits = false
        bench.suspended = .seconds(11)
        try bench.bring((Bench.news, [1]))
        bench.shard.turn()
        return bench
    }

    @Test("After its host was suspended a shard moves nothing until a commit is answered")
    func afterSuspension() throws {
        let bench = try Self.suspended()
        defer { bench.shard.leave() }
        #expect(Self.copies(bench).isEmpty, "sockets may come before the tick")
        bench.wait(milliseconds: 3000)
        #expect(Self.copies(bench).isEmpty && Self.unacknowledged(bench) == 1)
        #expect(!bench.shard.stages.outcomes.isReady, "it waits for the tick")
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 2000)
        #expect(Self.copies(bench).count == 1 && bench.committed()?.offset == 1)
    }

    @Test("What waits to be moved is left to the next owner when its partition is lost")
    func lost() throws {
        let bench = try Self.suspended()
        defer { bench.shard.leave() }
        bench.wait(milliseconds: 100)
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.assign(1)
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 3000)
        #expect(Self.copies(bench).isEmpty && Self.unacknowledged(bench) == 0)
    }

    @Test("A process that is stopped in the midst of moving moves nothing more")
    func stoppedInside() throws {
        var stops = 0
        for look in 1...100 {
            let bench = Bench.urgent(quota: 0)
            defer { bench.shard.leave() }
            bench.wait(milliseconds: 1000)
            bench.group.answersCommits = false
            var moved: Int?
            bench.stop(before: look) { moved = Self.copies(bench).count }
            try bench.bring((Bench.news, [1]), (Bench.news, [2]), (Bench.news, [3]))
            bench.shard.turn()
            guard let moved else { break }
            stops += 1
            #expect(Self.copies(bench).count == moved, "stopped before look \(look)")
        }
        #expect(stops >= 3 && stops < 100)
    }

    // MARK: Acknowledgements that do not come

    @Test("While push.requests takes nothing, apps that have too much to be moved lag, each for itself; others go on")
    func stuck() throws {
        let mail = "com.example.mail"
        let bench = Bench.urgent(quota: 0) { $0.apps[Bench.sport, default: .init()].urgentQuota = 0 }
        defer { bench.shard.leave() }
        bench.producer.refused = ["push.requests"]
        let most = ShardLimits.moves / 2
        let request = PushSendRequest.with { $0.packedTokens = Data(repeating: 1, count: 32) }
        try bench.bring((0..<most + 100).map { _ in (Bench.news, request) })
        try bench.bring((Bench.sport, [2]), (mail, [3]), (Bench.news, [4]))
        bench.wait(milliseconds: 3000)
        #expect(Self.unacknowledged(bench) == most + 1)
        #expect(Self.copies(bench).last?.key == Array(Bench.sport.utf8))
        #expect(bench.gateway.accepted(of: mail) == [3])
        bench.producer.refused = []
        Self.report(nil, to: bench)
        bench.wait(milliseconds: 5000)
        #expect(Self.copies(bench).count == most + 102 && Self.unacknowledged(bench) == 0)
        #expect(bench.committed()?.offset == Int64(most) + 103)
        #expect(try bench.laggards().isEmpty)
    }

    @Test("A record that is being moved counts as much memory as if it were sent")
    func memory() throws {
        func bytes(quota: Int?) throws -> Int {
            let bench = Bench(in: .urgent) { $0.apps[Bench.news, default: .init()].urgentQuota = quota }
            defer { bench.shard.leave() }
            bench.producer.refused = ["push.requests"]
            bench.gateway.silent = [Bench.news]
            bench.assign(0)
            let request = PushSendRequest.with {
                $0.notification.alert.body = String(repeating: "a", count: 100)
                $0.packedTokens = Data([1, 2, 3].flatMap { [UInt8](repeating: $0, count: 32) })
            }
            try bench.bring([(Bench.news, request)])
            bench.wait(milliseconds: 100)
            return try #require(bench.shard.stages.group.directory.accounts.first).bytes
        }
        let sent = try bytes(quota: nil)
        let moved = try bytes(quota: 0)
        #expect(sent > 0 && moved >= sent)
    }

    @Test("A discard reaches records that wait to be moved")
    func discarded() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.publishedAt = 1
        bench.producer.room = 0
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        #expect(Self.unacknowledged(bench) == 1)
        bench.pull(.discard(AppControl.Discard(publishedBefore: 2, ends: [0: 1])), in: .urgent)
        bench.producer.room = nil
        bench.wait(milliseconds: 3000)
        #expect(try bench.offsets(.aborted) == [0])
        #expect(Self.copies(bench).isEmpty && bench.committed()?.offset == 1)
    }

    // MARK: Refusals

    @Test("Records that come back together go on in one batch")
    func together() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.producer.refused = ["push.requests"]
        try bench.bring((Bench.news, [1]), (Bench.news, [2]), (Bench.sport, [9]), (Bench.news, [3]), (Bench.news, [4]))
        bench.wait(milliseconds: 100)
        let batches = bench.shard.stages.intake.batchesMade
        #expect(Self.copies(bench).count == 4 && batches == 1)
        Self.report(Self.notAuthorized, to: bench)
        bench.wait(milliseconds: 2000)
        #expect(Self.accepted(bench) == [1, 2, 3, 4])
        #expect(bench.shard.stages.intake.batchesMade == batches + 1)
    }

    @Test("A record that comes back and cannot be used any more ends as a dead letter, under its number")
    func refused() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.producer.refused = ["push.requests"]
        try bench.bring((Bench.news, [1, 2]))
        bench.wait(milliseconds: 100)
        Self.report(Self.tooLarge, to: bench)
        let admission = bench.shard.stages.admission
        let returned = Array(admission.returned)
        admission.returned.removeAll()
        #expect(returned.count == 1)
        for (record, feed) in returned {
            admission.intake.refuse(record, of: feed, RecordRefusal(reason: "gone", detail: "its bundle is gone"))
        }
        bench.wait(milliseconds: 2000)
        #expect(bench.producer.records(of: "push.dead-letters").map { $0.header("reason") } == ["gone"])
        #expect(try bench.offsets(.deadLettered) == [0, 0])
        #expect(Self.accepted(bench).isEmpty && bench.committed()?.offset == 1)
        let counters = bench.shard.stages.counters
        #expect(counters.records == 1 && counters.notifications == 2 && counters.undecodable == 1)
    }

    @Test("After a refusal of push.requests one record at a time is tried, until one is taken")
    func oneAtATime() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.producer.refused = ["push.requests"]
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 100)
        Self.report(Self.notAuthorized, to: bench)
        try bench.bring((Bench.news, [3]))
        bench.wait(milliseconds: 31_000)
        #expect(Self.copies(bench).count == 2 && Set(Self.accepted(bench)) == [1, 2, 3])
        try bench.bring((Bench.news, [4]), (Bench.news, [5]))
        bench.wait(milliseconds: 1000)
        let trial = try #require(Self.copies(bench).last)
        #expect(Self.copies(bench).count == 3 && Self.accepted(bench).last == 5)
        bench.shard.delivered(trial.number, error: nil)
        try bench.bring((Bench.news, [6]), (Bench.news, [7]))
        bench.wait(milliseconds: 1000)
        #expect(Self.copies(bench).count == 5 && Self.accepted(bench).count == 4)
    }

    @Test("Records that wait to be moved are not tried when push.requests is refused")
    func waiting() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.producer.room = 0
        try bench.bring((Bench.news, [1]), (Bench.news, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 500)
        #expect(Self.unacknowledged(bench) == 3)
        var tries = 0
        bench.producer.objection = { record in
            guard record.topic == "push.requests" else { return nil }
            tries += 1
            return Self.notAuthorized
        }
        bench.producer.room = nil
        bench.wait(milliseconds: 3000)
        #expect(tries == 1 && Self.accepted(bench) == [1, 2, 3])
    }

    @Test("After a record was too large others of its size are tried once in a while, and smaller ones are moved")
    func sizes() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        var tries = 0
        bench.producer.objection = { record in
            guard record.topic == "push.requests", record.value.count > 1000 else { return nil }
            tries += 1
            return Self.tooLarge
        }
        let large = [UInt8](1...50)
        for _ in 0..<3 {
            try bench.bring((Bench.news, large), (Bench.news, [60]))
            bench.wait(milliseconds: 1000)
        }
        #expect(tries == 1 && Self.accepted(bench).count == 150 && Self.copies(bench).count == 3)
        bench.wait(milliseconds: 31_000)
        try bench.bring((Bench.news, large), (Bench.news, large))
        bench.wait(milliseconds: 1000)
        #expect(tries == 2 && Self.accepted(bench).count == 250)
        bench.producer.objection = { _ in nil }
        bench.wait(milliseconds: 31_000)
        try bench.bring((Bench.news, large))
        bench.wait(milliseconds: 1000)
        try bench.bring((Bench.news, large), (Bench.news, large))
        bench.wait(milliseconds: 1000)
        #expect(Self.copies(bench).count == 6 && Self.accepted(bench).count == 250)
    }

    // MARK: Records that are fed anew

    @Test("Records that are fed anew give back what they counted: nothing for one that could not be moved")
    func fedAnew() throws {
        let bench = Bench.urgent(quota: 50)
        defer { bench.shard.leave() }
        bench.gateway.unreachable = [Bench.news]
        bench.producer.objection = { $0.topic == "push.requests" ? Self.tooLarge : nil }
        let done = PushSendRequest.with { request in
            request.tokens = (UInt8(1)...20).map { byte in .with { $0.raw = Data(repeating: byte, count: 5) } }
        }
        try bench.bring([(Bench.news, done)])
        try bench.bring((Bench.news, [21]), (Bench.news, Array(31...70)))
        bench.wait(milliseconds: 1000)
        let account = try #require(bench.shard.stages.group.directory.accounts.first)
        let before = try #require(account.quota?.used)
        bench.pull(.pause)
        bench.wait(milliseconds: 5000)
        let after = try #require(account.quota?.used)
        #expect((20.5...21).contains(before) && (19.5...20).contains(after))
    }

    @Test("Apps that share a cursor get back their own tokens")
    func twins() throws {
        let twins = ["com.example.twin540122", "com.example.twin618045"]
        try #require(Bench.hash(twins[0]) == Bench.hash(twins[1]))
        let bench = Bench(in: .urgent) { configuration in
            for twin in twins { configuration.apps[twin, default: .init()].urgentQuota = 10 }
        }
        defer { bench.shard.leave() }
        bench.gateway.unreachable = Set(twins)
        bench.assign(0)
        try bench.bring((twins[0], [1]), (twins[1], [2, 3]))
        bench.wait(milliseconds: 1000)
        let accounts = bench.shard.stages.group.directory.accounts
        #expect(accounts.map { $0.quota?.used } == [1, 2])
        var controls = AppControls()
        for twin in twins {
            controls.set(.pause, of: AppControls.Name(environment: "sandbox", bundleID: twin), .pause)
        }
        bench.shard.use(controls)
        bench.wait(milliseconds: 5000)
        #expect(accounts.map { $0.quota?.used } == [0, 0])
    }
}
