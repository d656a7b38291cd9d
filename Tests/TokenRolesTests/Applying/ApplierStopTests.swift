import NIOCore
import Testing

@testable import RedisClient
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

@Suite("An applier that is told to stop while nothing answers")
struct ApplierStopTests {
    /// The steps of a member between its start and its end, in each of which it may be told to stop.
    enum Step: CaseIterable {
        case joining
        /// Redis has not told the history of its data.
        case historyAsked
        case positionsAsked
        case positionsAskedAgain
        case emptyAssignment
        case logAskedForItsBeginning
        case batchAtRedis
        case deadLetterUnderWay
        case tombstoneUnderWay
        case commitUnderWay
        case batchAndRevocation
        case commitAndRevocation
        case revocationOfWhatNeverBegan
        case partitionsLost
        case leaving
    }

    /// The sum of the limits: of the batches in hand, of the last commit, and of the looks at both.
    private static let limit = TimeAmount.seconds(16)

    @Test("It ends within the limits of batch and commit at every step", arguments: Step.allCases)
    func everyStep(step: Step) {
        let server = RedisAddress(host: "127.0.0.1", port: 1)
        let bench = ApplierBench(histories: step == .historyAsked ? [server: nil] : [:]) {
            $0 == "dead" ? .tombstone(at: 7, .unregistered) : .register(at: 1, TokenTexts())
        }
        let member = bench.member
        reach(step, bench)
        member.isSilent = true
        bench.redis.isAway = true
        bench.producer.isSilent = true
        let ended = bench.applier.stop()
        var hasEnded = false
        ended.assumeIsolated().whenComplete { _ in hasEnded = true }
        bench.pass(Self.limit)
        #expect(member.isClosed && hasEnded)
        // Late answers change nothing.
        bench.pass(.minutes(2))
    }

    private func reach(_ step: Step, _ bench: ApplierBench) {
        let member = bench.member
        switch step {
        case .joining: break
        case .historyAsked: member.give(0)
        case .positionsAsked, .positionsAskedAgain:
            member.isAway = step == .positionsAskedAgain
            member.isSilent = step == .positionsAsked
            member.give(0)
            bench.pass(.seconds(2))
        case .emptyAssignment: member.give()
        case .logAskedForItsBeginning:
            bench.committed = [0: 5]
            member.logs[0] = .init(low: 20, values: ["a"])
            member.give(0)
            bench.pass()
            member.isSilent = true
            bench.pass(.seconds(1))
        case .batchAtRedis: bench.holdBatch()
        case .deadLetterUnderWay:
            bench.errors["a"] = .server(prefix: "BELFRY", message: "not known here")
            bench.producer.isSilent = true
            member.publish("a")
            member.give(0)
        case .tombstoneUnderWay:
            bench.producer.isSilent = true
            member.publish("dead")
            member.give(0)
        case .commitUnderWay, .commitAndRevocation:
            member.isSilent = false
            member.publish("a")
            member.give(0)
            bench.pass()
            member.isSilent = true
            member.publish("b")
            bench.pass()
            if step == .commitAndRevocation { member.takeBack(0) }
        case .batchAndRevocation:
            bench.holdBatch()
            member.takeBack(0)
            bench.pass(.seconds(9))
        case .revocationOfWhatNeverBegan:
            member.isSilent = true
            member.give(0)
            bench.pass()
            member.takeBack(0)
        case .partitionsLost:
            bench.holdBatch()
            member.takeBack(0, lost: true)
        case .leaving:
            bench.holdBatch()
            _ = bench.applier.stop()
        }
        bench.pass()
    }
}
