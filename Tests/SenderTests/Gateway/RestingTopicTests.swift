import Testing

@testable import PipelineCore
@testable import Sender

/// Hundreds of topics cost little while they have nothing to do.
@Suite("Topics at rest")
struct RestingTopicTests {
    private typealias Bench = ShardBench

    private func lanes(of bundleID: String, in bench: Bench) throws -> AppLanes {
        try #require(bench.shard.stages.gateway.all.first { $0.topic.bundleID == bundleID })
    }

    private func lane(of bundleID: String, in bench: Bench) throws -> GatewayLane {
        try lanes(of: bundleID, in: bench).binary.ownLanes[0]
    }

    /// A worker that has sent a notification of one topic, which is at rest since.
    private func benchAtRest() throws -> Bench {
        let bench = Bench()
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        return bench
    }

    @Test("A topic is at rest when all has settled and the connection has freed its buffers, once for all writes")
    func rests() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 100)
        #expect(try !lanes(of: Bench.news, in: bench).isAtRest)
        #expect(Set(bench.gateway.rested) == [Bench.news, Bench.sport])
        bench.wait(milliseconds: 1000)
        #expect(try lanes(of: Bench.news, in: bench).isAtRest)
        try bench.bring((Bench.sport, [3]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.rested.count { $0 == Bench.sport } == 2)
        #expect(bench.gateway.rested.count { $0 == Bench.news } == 1)
    }

    @Test("A connection whose peer has not acknowledged what was written keeps its buffers")
    func halfDead() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.news]
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.writes == [Bench.news] && bench.gateway.rested.isEmpty)
    }

    @Test("A topic at rest is looked at in one tick of ten: a replaced certificate is seen within that")
    func oneTickOfTen() throws {
        let bench = try benchAtRest()
        defer { bench.shard.leave() }
        let lane = try lane(of: Bench.news, in: bench)
        #expect(lane.machine.rotation.edition == 1)
        bench.gateway.edition = 2
        var ticks = 0
        while lane.machine.rotation.reason != .credential, ticks < 50 {
            bench.wait(milliseconds: 20)
            ticks += 1
        }
        #expect((2...ShardLimits.ticksAtRest).contains(ticks))
    }

    @Test("A connection that takes over at rest frees its buffers too")
    func successorRests() throws {
        let bench = try benchAtRest()
        defer { bench.shard.leave() }
        #expect(bench.gateway.rested == [Bench.news])
        bench.gateway.edition = 2
        bench.wait(milliseconds: 15_000)
        let lanes = try lanes(of: Bench.news, in: bench)
        #expect(lanes.binary.ownLanes[0].machine.rotation.edition == 2)
        #expect(bench.gateway.rested == [Bench.news, Bench.news] && lanes.isAtRest)
    }

    @Test("If every other tick is late, a topic at rest is still looked at in time", arguments: [0, 1])
    func lateTicks(parity: Int) throws {
        let bench = try benchAtRest()
        defer { bench.shard.leave() }
        bench.gateway.edition = 2
        let gateway = bench.shard.stages.gateway
        for tick in 0..<2 * ShardLimits.ticksAtRest {
            _ = gateway.tick(now: bench.shard.now, isLate: tick % 2 == parity)
        }
        #expect(try lane(of: Bench.news, in: bench).machine.rotation.reason == .credential)
    }

    @Test("A paused topic is not at rest, nor one whose certificate is gone")
    func attended() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 2000)
        #expect(try lanes(of: Bench.news, in: bench).isAtRest && lanes(of: Bench.sport, in: bench).isAtRest)
        bench.pull(.pause)
        bench.gateway.missing = [Bench.sport]
        bench.wait(milliseconds: 20)
        #expect(try !lanes(of: Bench.news, in: bench).isAtRest && !lanes(of: Bench.sport, in: bench).isAtRest)
    }

    @Test("After a campaign over HTTP/2 a topic gives its memory back, and goes on")
    func streamMemory() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        for _ in 0..<2 {
            try bench.bring((Bench.news, Array(1...250)), (Bench.news, Array(1...250)), (Bench.news, Array(1...250)))
            bench.wait(milliseconds: 30_000)
            let lane = try #require(bench.streamLane(Bench.news))
            let needed = lane.queue.capacity
            #expect(lane.isAtRest && needed == 1024)
            bench.wait(milliseconds: 35_000)
            let kept = lane.queue.capacity
            #expect(kept == StreamSlab.firstCapacity)
        }
        #expect(bench.service.accepted(of: Bench.news).count == 1500)
    }

    @Test("After a campaign over the binary interface a lane gives its memory back, and the shard idle chunks")
    func laneMemory() throws {
        let bench = Bench { $0.worker.connectionsPerTopic = 1 }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...250)), (Bench.news, Array(1...250)), (Bench.news, Array(1...250)))
        bench.wait(milliseconds: 100)
        let lane = try lane(of: Bench.news, in: bench)
        lane.machine.retainedShare = 0
        bench.wait(milliseconds: 30_000)
        let frames = bench.shard.stages.gateway.frames
        let needed = lane.machine.log.capacity
        #expect(needed == 1024 && frames.spareCount > 0)
        bench.wait(milliseconds: 65_000)
        let kept = lane.machine.log.capacity
        #expect(kept == FrameLog.leastCapacity && frames.spareCount == 0)
    }

    @Test("Little is written only when no more is at hand, a quarter of a record at once")
    func littleWaits() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        let lanes = try lanes(of: Bench.news, in: bench)
        let binary = lanes.binary
        let writes = bench.gateway.writes.count
        func append(_ count: Int) {
            let bytes = 300
            for _ in 0..<count {
                _ = binary.ownLanes[0].machine.reserve(bytes)
                binary.ownLanes[0].machine.commit(.init(assignment: 9, record: 0, token: 0), bytes: bytes)
            }
        }
        append(2)
        binary.pump(now: bench.shard.now, isMoreAtHand: true)
        #expect(binary.waitingCount == 2 && bench.gateway.writes.count == writes)
        append(12)
        binary.pump(now: bench.shard.now, isMoreAtHand: true)
        #expect(binary.waitingCount == 0 && bench.gateway.writes.count == writes + 1)
        append(1)
        binary.pump(now: bench.shard.now, isMoreAtHand: false)
        #expect(binary.waitingCount == 0 && bench.gateway.writes.count == writes + 2)
    }

    @Test("The lanes of a shard share what may be kept of presumed notifications")
    func share() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        #expect(
            try lane(of: Bench.news, in: bench).machine.retainedShare == ShardLimits.retainedBytes
        )
        try bench.bring((Bench.sport, [2]))
        bench.wait(milliseconds: 100)
        for bundleID in [Bench.news, Bench.sport] {
            let lane = try lane(of: bundleID, in: bench)
            #expect(lane.machine.retainedShare == ShardLimits.retainedBytes / 2)
        }
        #expect(ShardLimits.retainedShare(lanes: 10_000) == 2 * FrameLog.chunkBytes)
    }
}
