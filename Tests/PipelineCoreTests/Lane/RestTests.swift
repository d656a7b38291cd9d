import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

/// Memory that was needed for work goes back after a rest.
@Suite struct RestTests {
    @Test("A rest is over after a minute without work, and again after another; work in between begins it anew")
    func watch() {
        var watch = RestWatch()
        var now = MonotonicTime(nanoseconds: 5)
        func isOver(after wait: Duration, work: UInt64, isAtRest: Bool = true) -> Bool {
            now = now + wait
            return watch.isOver(work: work, isAtRest: isAtRest, now: now)
        }
        #expect(!isOver(after: .seconds(100), work: 0), "nothing was known before")
        #expect(!isOver(after: .seconds(59), work: 0))
        #expect(isOver(after: .seconds(1), work: 0))
        #expect(!isOver(after: .seconds(59), work: 0))
        #expect(isOver(after: .seconds(1), work: 0))
        #expect(!isOver(after: .seconds(60), work: 1), "there was work between two looks")
        #expect(!isOver(after: .seconds(60), work: 1, isAtRest: false))
        #expect(!isOver(after: .seconds(1), work: 1), "the rest begins with the first look at it")
        #expect(isOver(after: .seconds(60), work: 1))
    }

    @Test("A queue gives its memory back after a campaign, and not between those that come every half minute")
    func queue() {
        let probe = StreamProbe(inFlight: 100_000)
        probe.queue.releaseContent(probe.content)
        _ = probe.unusedContent
        let content = probe.queue.addContent()
        probe.publish(1, content: content)
        probe.send()
        for _ in 0..<5 {
            #expect(!probe.rest(), "a content is in use")
            probe.pass(.seconds(30))
        }
        probe.answer(0)
        probe.queue.releaseContent(content)
        #expect(probe.unusedContent == content)
        for turn in 0..<6 {
            let content = probe.queue.addContent()
            probe.publish(3000, content: content)
            for ordinal in probe.send() { probe.answer(ordinal) }
            probe.queue.releaseContent(content)
            #expect(probe.unusedContent == content && probe.isDrained)
            #expect(!probe.rest() && probe.capacity == 4096, "turn \(turn)")
            probe.pass(.seconds(30))
            #expect(!probe.rest())
        }
        probe.pass(.seconds(30))
        #expect(probe.rest() && probe.capacity == StreamSlab.firstCapacity)
        probe.pass(.seconds(90))
        #expect(!probe.rest(), "there is nothing more to give back")
        let known = probe.queue.place(of: StreamTicket(queue: 0, slot: 2999, sending: 3000))
        #expect(known?.stream == nil, "a late event of before finds nothing")
        let last = probe.published
        probe.publish(2000, content: probe.queue.addContent())
        #expect(probe.send().first == last)
        #expect(probe.answer(last) == .init(last, .confirmed))
    }

    @Test("A queue with a notification that sleeps, or is in flight, keeps its memory")
    func busyQueue() {
        let probe = StreamProbe(inFlight: 100_000)
        probe.publish(1000)
        for ordinal in probe.send().dropLast() { probe.answer(ordinal) }
        for _ in 0..<3 {
            probe.pass(.seconds(61))
            #expect(!probe.rest())
        }
        #expect(probe.capacity == 1024)
    }

    @Test("A lane's log gives back what presumed notifications do not need, and a late answer still finds its own")
    func lane() {
        let probe = LaneProbe(inFlight: 10_000, retainedBytes: 1 << 15)
        probe.publish(9000)
        #expect(probe.openAndSend().count == 9000)
        #expect(probe.silence().presumed.count == 9000)
        probe.publish(10)
        #expect(probe.send().count == 10)
        #expect(probe.silence().presumed.count == 10)
        probe.evict()
        for _ in 0..<3 { probe.rest() }
        #expect(probe.room == 16_384)
        probe.now = probe.now + .seconds(60)
        probe.rest()
        let kept = probe.keptEntries
        #expect(probe.room < 16_384 && probe.room >= kept && probe.room < max(512, 2 * kept))
        #expect(probe.answer(.invalidToken, 9005).refused == 9005)
        #expect(probe.openAndSend() == [9006, 9007, 9008, 9009], "what the answer discarded goes again")
    }

    @Test("A lane at rest keeps the last of its presumed notifications alone, so that many lanes hold little")
    func lanesPresumed() {
        let probe = LaneProbe(inFlight: 10_000, retainedBytes: 1 << 20)
        probe.publish(9000)
        #expect(probe.openAndSend().count == 9000)
        #expect(probe.silence().presumed.count == 9000)
        probe.evict()
        #expect(probe.keptEntries == 9000)
        probe.rest()
        probe.rest()
        probe.now = probe.now + .seconds(60)
        probe.rest()
        #expect(probe.keptEntries > 0 && probe.storedBytes <= 2 * FrameLog.chunkBytes)
        #expect(probe.answer(.invalidToken, 8998).refused == 8998)
        #expect(probe.openAndSend() == [8999])
    }

    @Test("Connections that take each other's place every few seconds are no work: the lane's memory goes back")
    func rotatedLane() {
        let probe = LaneProbe(inFlight: 10_000)
        probe.publish(9000)
        #expect(probe.openAndSend().count == 9000)
        #expect(probe.silence().presumed.count == 9000)
        probe.rest()
        probe.rest()
        for _ in 0..<6 {
            #expect(probe.room == 16_384)
            probe.now = probe.now + .seconds(10)
            probe.lane.retire()
            probe.rest()
            _ = probe.end(.closedHere)
            probe.evict()
            probe.open()
        }
        probe.rest()
        #expect(probe.room == 256)
    }

    @Test("Chunks that lie idle go back when none was taken for a minute")
    func chunks() {
        let memory = FrameChunks(mostSpare: 64)
        var log = FrameLog(memory: memory)
        var now = MonotonicTime(nanoseconds: 0)
        for _ in 0..<4 {
            for number in 0..<20 as Range<UInt32> {
                _ = log.reserve(FrameLog.chunkBytes)
                log.commit(.init(assignment: 1, record: 0, token: number), bytes: FrameLog.chunkBytes)
            }
            log.evict(before: log.tail)
            now = now + .seconds(40)
            memory.rest(now: now)
            #expect(memory.spareCount == 20)
        }
        now = now + .seconds(60)
        memory.rest(now: now)
        #expect(memory.spareCount == 0)
    }
}
