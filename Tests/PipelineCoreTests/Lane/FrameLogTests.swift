import TestSupport
import Testing

@testable import PipelineCore

@Suite struct FrameLogTests {
    @Test("Identifiers start at 1, wrap from 2³²−1 to 1 and are never 0")
    func identifiers() {
        #expect(FrameLog.identifier(of: 0) == 1)
        #expect(FrameLog.identifier(of: UInt64(UInt32.max) - 1) == .max)
        #expect(FrameLog.identifier(of: UInt64(UInt32.max)) == 1)
        #expect(FrameLog.identifier(of: 2 * UInt64(UInt32.max)) == 1)
    }

    @Test("An identifier finds its entry among those kept and no other, also where they wrap")
    func lookup() {
        for first in [0, 5, UInt64(UInt32.max) - 3, UInt64(UInt32.max), 3 * UInt64(UInt32.max) - 1] {
            var log = FrameLog(firstSequence: first)
            for number in 0..<8 as Range<UInt32> { log.append(number, bytes: 10) }
            log.evict(before: first + 2)
            for sequence in first..<first + 10 {
                let found = log.sequence(of: FrameLog.identifier(of: sequence))
                #expect(found == (sequence >= first + 2 && sequence < first + 8 ? sequence : nil))
            }
            let none = log.sequence(of: 0)
            #expect(none == nil)
        }
    }

    @Test("A run leaves out dropped entries and never leaves its chunk")
    func runs() {
        var log = FrameLog()
        for number in 0..<6 as Range<UInt32> { log.append(number, bytes: 10, assignment: number == 2 ? 9 : 1) }
        let dropped = log.drop(assignment: 9, from: 0).count
        #expect(dropped == 1)
        var ends: [UInt64] = []
        var counts: [Int] = []
        var at: UInt64 = 0
        while at < 5 {
            let (bytes, end) = log.run(from: at, limit: 5)
            ends.append(end)
            counts.append(bytes.count)
            at = end
        }
        #expect(ends == [2, 3, 5])
        #expect(counts == [20, 0, 20])
    }

    @Test("Frames that leave with a partition are found without a look at others, also where the log let go of some")
    func assignments() {
        var log = FrameLog(firstSequence: 1000)
        for number in 0..<3000 as Range<UInt32> { log.append(number, bytes: 10, assignment: number % 30) }
        log.evict(before: 1600)
        for assignment in 0..<10 as Range<UInt32> {
            let former = log.looks
            let kept = log.drop(assignment: assignment, from: 2500)
            #expect(kept.map(\.token) == (0..<3000).filter { $0 >= 1500 && $0 % 30 == assignment })
            let rest = log.drop(assignment: assignment, from: 1600) { $0.token % 60 < 30 }
            #expect(rest.map(\.token) == (0..<3000).filter { (600..<1500).contains($0) && $0 % 60 == assignment })
            let looks = log.looks - former
            #expect(looks == 50 + 80)
        }
        let none = log.drop(assignment: 77, from: 1600)
        #expect(none.isEmpty)
        let former = log.looks
        let isKept = log.keeps(assignment: 20)
        let looks = log.looks - former
        #expect(isKept && looks == 1)
        // Assignments come and go for months, and are never told to have ended.
        for number in 0..<10_000 as Range<UInt32> {
            log.append(number, bytes: 10, assignment: 1000 + number)
            log.evict(before: log.tail - 3)
        }
        let known = log.knownAssignments
        #expect(known <= 65)
    }

    @Test("A frame of a whole chunk fits, and the next one starts another chunk")
    func largestFrame() {
        var log = FrameLog()
        log.append(0, bytes: FrameLog.chunkBytes)
        log.append(1, bytes: 10)
        let (bytes, end) = log.run(from: 0, limit: 2)
        #expect(bytes.count == FrameLog.chunkBytes && end == 1)
        #expect(log.storedBytes == 2 * FrameLog.chunkBytes)
    }

    @Test("Chunks that one log has let go of serve another, up to the number kept")
    func sharedChunks() {
        let memory = FrameChunks(mostSpare: 2)
        let kept = [memory.take(), memory.take(), memory.take()]
        for chunk in kept.prefix(2) { memory.giveBack(chunk) }
        var log = FrameLog(memory: memory)
        for _ in 0..<2 { log.append(0, bytes: FrameLog.chunkBytes) }
        let bases = Set(log.chunks.map(\.base))
        #expect(bases == Set(kept.prefix(2)) && memory.spareCount == 0)
        log.evict(before: 2)
        memory.giveBack(kept[2])
        #expect(memory.spareCount == 2)
    }

    @Test("Refusals are counted per entry")
    func refusals() {
        var log = FrameLog()
        log.append(0, bytes: 10)
        log.append(1, bytes: 10)
        var counts: [Int] = []
        for _ in 0..<300 { counts.append(log.countRefusal(at: 1)) }
        #expect(counts.prefix(3) == [1, 2, 3] && counts.last == 255)
        let other = log.entry(at: 0).refusals
        #expect(other == 0)
    }

    @Test("Silent ends of connections are counted per entry, up to 255")
    func loneCloses() {
        var log = FrameLog()
        log.append(0, bytes: 10)
        log.append(1, bytes: 10)
        var counts: [Int] = []
        for _ in 0..<300 { counts.append(log.countLoneClose(at: 1)) }
        #expect(counts.prefix(3) == [1, 2, 3] && counts.last == 255)
        let other = log.entry(at: 0).loneCloses
        #expect(other == 0)
    }

    @Test("An assignment is known from its first frame on, and once; a question for another one makes it no more")
    func knownAssignments() {
        var log = FrameLog()
        var counts = [log.knownAssignments]
        for assignment in [1, 2, 1] as [UInt32] {
            log.append(0, bytes: 10, assignment: assignment)
            counts.append(log.knownAssignments)
        }
        let isKept = log.keeps(assignment: 9)
        counts.append(log.knownAssignments)
        #expect(!isKept && counts == [0, 1, 2, 2, 2])
    }

    @Test("The log holds what a list would hold, byte for byte, and lets go of spent chunks", arguments: 1...40)
    func againstList(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let first = seed % 2 == 0 ? 0 : UInt64(UInt32.max) - 100
        var log = FrameLog(firstSequence: first)
        var model: [(bytes: [UInt8], assignment: UInt32, isDropped: Bool)] = []
        var head = first
        var sum = 0
        for step in 0..<3000 as Range<UInt32> {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<85:
                let bytes = Int.random(in: 10...(random.chance(5) ? 9000 : 400), using: &random)
                let assignment = UInt32.random(in: 1...3, using: &random)
                model.append((log.append(step, bytes: bytes, assignment: assignment), assignment, false))
                sum += bytes
            case 85..<88:
                let assignment = UInt32.random(in: 1...3, using: &random)
                let from = head + .random(in: 0...UInt64(model.count), using: &random)
                var expected = 0
                for index in Int(from - head)..<model.count
                where model[index].assignment == assignment && !model[index].isDropped {
                    model[index].isDropped = true
                    expected += 1
                }
                let dropped = log.drop(assignment: assignment, from: from).count
                #expect(dropped == expected)
            default:
                let limit = head + .random(in: 0...UInt64(model.count), using: &random)
                if random.chance(50) {
                    log.evict(before: limit)
                } else {
                    let retained = Int.random(in: 0...100_000, using: &random)
                    log.evict(before: limit, retaining: retained)
                    let keptBytes = model.prefix(Int(limit - head)).suffix(Int(limit - log.head))
                        .reduce(0) { $0 + $1.bytes.count }
                    #expect(keptBytes <= retained + FrameLog.chunkBytes)
                }
                if random.chance(30) { log.shrink() }
                let gone = Int(log.head - head)
                sum -= model.prefix(gone).reduce(0) { $0 + $1.bytes.count }
                model.removeFirst(gone)
                head = log.head
            }
            if random.chance(5) {
                let wanted = UInt32.random(in: 0..<4, using: &random)
                let from = head + .random(in: 0...UInt64(model.count), using: &random)
                let parity = Int.random(in: 0...1, using: &random)
                let expected = model.indices.filter {
                    head + UInt64($0) >= from && !model[$0].isDropped && model[$0].bytes[9] % 4 == wanted
                        && model[$0].bytes.count % 2 == parity
                }
                for index in expected { model[index].isDropped = true }
                let found = log.drop(checksum: wanted, from: from) { $0.count % 2 == parity }
                #expect(found == expected.map { head + UInt64($0) })
            }
            if random.chance(20) {
                let ends = [0, 1].map { _ in UInt64.random(in: 0...UInt64(model.count), using: &random) }.sorted()
                let sum = model[Int(ends[0])..<Int(ends[1])].reduce(0) { $0 + $1.bytes.count }
                let span = log.span(from: head + ends[0], to: head + ends[1])
                // Unused ends of chunks count, of which each is shorter than the frame that did not fit.
                #expect(span >= sum && span <= 3 * sum + FrameLog.chunkBytes)
            }
            let tail = log.tail
            let dropped = log.droppedCount
            #expect(tail == head + UInt64(model.count))
            #expect(dropped == model.count { $0.isDropped })
            // Frames of at most 9000 bytes leave less than 9000 of a chunk unused; the first can be spent in part.
            #expect(log.storedBytes <= sum * 3 + 2 * FrameLog.chunkBytes)
            if step % 50 == 0 { compare(log, model, head: head) }
        }
    }

    private func compare(
        _ log: borrowing FrameLog,
        _ model: [(bytes: [UInt8], assignment: UInt32, isDropped: Bool)],
        head: UInt64
    ) {
        for (index, expected) in model.enumerated() {
            let sequence = head + UInt64(index)
            let entry = log.entry(at: sequence)
            let bytes = Array(log.frame(at: sequence))
            #expect(bytes == expected.bytes)
            #expect(entry.isDropped == expected.isDropped && entry.reference.assignment == expected.assignment)
        }
        var at = head
        let limit = head + UInt64(model.count)
        while at < limit {
            let (bytes, end) = log.run(from: at, limit: limit)
            let expected = model[Int(at - head)..<Int(end - head)].filter { !$0.isDropped }.flatMap(\.bytes)
            let run = Array(bytes)
            #expect(run == expected && run.count <= FrameLog.chunkBytes)
            at = end
        }
    }
}

extension FrameLog {
    /// Appends a frame with the identifier due; returns its bytes.
    @discardableResult
    fileprivate mutating func append(_ ordinal: UInt32, bytes: Int, assignment: UInt32 = 1) -> [UInt8] {
        let identifier = FrameLog.identifier(of: tail)
        let room = reserve(bytes)
        for index in room.indices { room[index] = UInt8(truncatingIfNeeded: Int(ordinal) &+ index) }
        TestFrame.write(identifier: identifier, ordinal: ordinal, into: room)
        let written = Array(room)
        commit(.init(assignment: assignment, record: 0, token: ordinal), bytes: bytes, checksum: ordinal % 4)
        return written
    }
}
