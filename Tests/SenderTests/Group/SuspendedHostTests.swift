import BelfrySupport
import HTTP2Transport
import NIOCore
import PipelineCore
import Testing

@testable import Sender
@testable import SimulatedServers

/// A host that is suspended or moved: the clock of event loops stands still meanwhile, and the group goes on.
@Suite("A suspended host")
struct SuspendedHostTests {
    @Test("After it nothing is sent until a commit is answered", arguments: [false, true])
    func held(isHTTP2: Bool) throws {
        let bench = ShardBench(over: isHTTP2 ? .http2 : .binary)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((ShardBench.news, [1]))
        bench.wait(milliseconds: 1000)
        let accepted = { isHTTP2 ? bench.service.accepted.count : bench.gateway.accepted(of: ShardBench.news).count }
        #expect(accepted() == 1)
        bench.group.answersCommits = false
        bench.suspended = .seconds(11)
        try bench.bring((ShardBench.news, [2]))
        bench.shard.turn()
        #expect(accepted() == 1, "sockets may come before the tick")
        bench.wait(milliseconds: 3000)
        #expect(accepted() == 1)
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 1000)
        #expect(accepted() == 2)
    }

    @Test("A process that is stopped in the midst of sending writes nothing more of it", arguments: [false, true])
    func stoppedInside(isHTTP2: Bool) throws {
        var stops = 0
        for look in 1...100 {
            let bench = ShardBench(over: isHTTP2 ? .http2 : .binary)
            defer { bench.shard.leave() }
            let writes = { isHTTP2 ? bench.service.writes : bench.gateway.writes.count }
            bench.assign(0)
            try bench.bring((ShardBench.news, [1]))
            bench.wait(milliseconds: 1000)
            bench.group.answersCommits = false
            var written: Int?
            bench.stop(before: look) { written = writes() }
            try bench.bring((ShardBench.news, Array(2...255)))
            bench.shard.turn()
            bench.eventLoop.run()
            guard let written else { break }
            stops += 1
            #expect(writes() == written, "stopped before look \(look)")
        }
        #expect(stops >= 2 && stops < 100)
    }

    @Test("Bodies that wait for the gateway's window do not leave once the shard may not send")
    func stalledBodies() throws {
        let bench = ShardBench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.settings = HTTP2Settings(maxConcurrentStreams: 1000, streamWindowBytes: 1)
        bench.assign(0)
        try bench.bring((ShardBench.news, [1]))
        bench.wait(milliseconds: 1000)
        // The first one leaves before the gateway's settings come.
        #expect(bench.service.accepted(of: ShardBench.news) == [1])
        let session = bench.service.peers[0].session
        session.returnsWindow = false
        try bench.bring((ShardBench.news, [2]))
        bench.wait(milliseconds: 1000)
        #expect(bench.service.peers.count == 1 && bench.service.requests.count == 1)
        bench.group.answersCommits = false
        bench.suspended = .seconds(11)
        bench.wait(milliseconds: 100)
        session.returnsWindow = true
        bench.service.peers[0].flush()
        bench.wait(milliseconds: 1000)
        #expect(bench.service.requests.count == 1 && bench.service.peers[0].isEnded)
        bench.service.settings = HTTP2Settings(maxConcurrentStreams: 1000)
        bench.group.answersCommits = true
        bench.group.answerCommits()
        bench.wait(milliseconds: 3000)
        #expect(bench.service.accepted(of: ShardBench.news) == [1, 2])
    }

    @Test("Time without an answer to a commit counts also while the host is suspended")
    func unanswered() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((ShardBench.news, [1]))
        bench.group.answersCommits = false
        bench.wait(milliseconds: 1500)
        for _ in 0..<2 {
            bench.suspended += .seconds(6)
            bench.wait(milliseconds: 100)
        }
        try bench.bring((ShardBench.news, [2]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1])
        bench.group.answerCommits()
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1, 2])
    }

    @Test("It counts with the suspension before the first tick after that, too")
    func unansweredBeforeTick() throws {
        let bench = ShardBench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.group.answersCommits = false
        try bench.bring((ShardBench.news, [1]))
        bench.wait(milliseconds: 6000)
        bench.suspended = .seconds(6)
        try bench.bring((ShardBench.news, [2]))
        bench.shard.turn()
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1])
    }

    @Test("The host's clock is not behind that of event loops")
    func clock() {
        let loop = MonotonicTime(.now())
        #expect(loop <= MonotonicTime.throughSuspension())
    }
}
