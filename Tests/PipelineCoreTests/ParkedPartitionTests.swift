import TestSupport
import Testing

@testable import PipelineCore

/// What is read of a partition of push.parked, and when a topic has caught up.
@Suite struct ParkedPartitionTests {
    private var parked = ParkedPartition()

    private mutating func store(_ topics: UInt64...) {
        for topic in topics {
            _ = parked.handedOver(topic)
            parked.stored(topic, at: parked.end ?? 0)
        }
    }

    /// Reads from `first` up to `last`; returns what each offset was taken by, of the topics in `log`.
    private mutating func pass(_ log: [UInt64], from first: Int64, upTo end: Int64) -> [Int64] {
        var taken: [Int64] = []
        for offset in first..<end {
            parked.passed(upTo: offset)
            if parked.takes(log[Int(offset)], at: offset) { taken.append(offset) }
            parked.passed(upTo: offset + 1)
        }
        return taken
    }

    @Test("A lag begins where the partition ended when its first copy was handed over")
    mutating func begins() {
        parked.noteEnd(40)
        #expect(parked.handedOver(1) == 40)
        #expect(parked.handedOver(1) == nil)
        parked.stored(1, at: 45)
        #expect(parked.handedOver(2) == 46, "what is stored before the next copy is known by now")
    }

    @Test("A topic has caught up when its copies are stored, read, and come to the lanes")
    mutating func catchesUp() {
        #expect(parked.isCaughtUp(1))
        parked.noteEnd(0)
        _ = parked.handedOver(1)
        #expect(!parked.isCaughtUp(1), "on its way")
        parked.stored(1, at: 0)
        #expect(!parked.isCaughtUp(1), "not read")
        #expect(parked.read { _ in true } == .begin(at: 0))
        #expect(pass([1], from: 0, upTo: 1) == [0])
        parked.batchTaken(1)
        #expect(!parked.isCaughtUp(1), "not in the lanes")
        parked.batchPassed(1)
        #expect(parked.isCaughtUp(1))
        parked.finish(1)
        #expect(parked.read { _ in true } == .stop)
    }

    @Test("A topic that does not work is passed by, and read from its first copy when it works")
    mutating func comesBack() {
        let log: [UInt64] = [1, 2, 1, 2, 2]
        parked.noteEnd(0)
        store(1, 2, 1, 2, 2)
        #expect(parked.read { $0 == 2 } == .begin(at: 1))
        #expect(pass(log, from: 1, upTo: 5) == [1, 3, 4])
        #expect(parked.isCaughtUp(2) && !parked.isCaughtUp(1))
        #expect(parked.rest(of: 1) == 3)
        #expect(parked.read { _ in true } == .begin(at: 0))
        #expect(pass(log, from: 0, upTo: 5) == [0, 2], "nothing of the other topic a second time")
    }

    @Test("A topic without room leaves the reader, takes nothing newer, and comes back for what it left")
    mutating func leaves() {
        let log: [UInt64] = [1, 2, 1, 2]
        parked.noteEnd(0)
        store(1, 2, 1, 2)
        #expect(parked.read { _ in true } == .begin(at: 0))
        #expect(pass(log, from: 0, upTo: 2) == [0, 1])
        parked.leave(1, at: 2)
        #expect(pass(log, from: 2, upTo: 4) == [3])
        #expect(parked.read { _ in true } == .begin(at: 2))
        #expect(pass(log, from: 2, upTo: 4) == [2])
        #expect(parked.isCaughtUp(1) && parked.isCaughtUp(2))
    }

    @Test("A topic that failed is read again from its cursor")
    mutating func rewinds() {
        let log: [UInt64] = [1, 1, 1]
        parked.noteEnd(0)
        store(1, 1, 1)
        _ = parked.read { _ in true }
        #expect(pass(log, from: 0, upTo: 3) == [0, 1, 2])
        parked.batchTaken(1)
        parked.rewind(1, to: 1)
        #expect(parked.read { _ in false } == .goOn)
        #expect(parked.read { _ in true } == .begin(at: 1))
        #expect(pass(log, from: 1, upTo: 3) == [1, 2])
        #expect(parked.isCaughtUp(1))
    }

    @Test("A copy of which the broker does not say where it is keeps its topic back until the end is known")
    mutating func lostEnd() {
        parked.noteEnd(5)
        _ = parked.handedOver(1)
        parked.stored(1, at: -1)
        #expect(parked.hasLostEnd && !parked.isCaughtUp(1))
        parked.noteEnd(6)
        #expect(!parked.hasLostEnd && !parked.isCaughtUp(1))
        #expect(parked.read { _ in true } == .begin(at: 5))
        parked.passed(upTo: 6)
        #expect(parked.isCaughtUp(1))
    }

    @Test("A topic that a commit had no room to name is adopted where the reader is")
    mutating func adopts() {
        parked.noteEnd(10)
        parked.inherit(ParkedPartition.others, from: 3)
        #expect(parked.adopt(7) == 3)
        #expect(parked.adopt(7) == nil)
        #expect(parked.read { _ in true } == .begin(at: 3))
        parked.passed(upTo: 6)
        #expect(parked.adopt(8) == 6)
        #expect(parked.takes(7, at: 6) && parked.takes(8, at: 6))
        parked.passed(upTo: 10)
        #expect(parked.isCaughtUp(7) && parked.isCaughtUp(8) && parked.isCaughtUp(ParkedPartition.others))
        parked.finish(ParkedPartition.others)
        #expect(parked.adopt(9) == nil)
    }

    @Test("Whatever fails and fills up, every topic takes its copies in order, once per reading", arguments: 0..<300)
    mutating func property(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var log: [UInt64] = []
        var outstanding: [UInt64] = []
        var taken: [UInt64: [Int64]] = [:]
        var works: Set<UInt64> = [1, 2, 3]
        parked.noteEnd(0)
        for step in 0..<600 {
            let isEnding = step >= 400
            if isEnding { works = [1, 2, 3] }
            let topic = UInt64.random(in: 1...3, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where !isEnding:
                _ = parked.handedOver(topic)
                outstanding.append(topic)
            case 1 where !outstanding.isEmpty:
                let first = outstanding.removeFirst()
                log.append(first)
                parked.stored(first, at: Int64(log.count - 1))
            case 2 where !isEnding:
                if works.remove(topic) == nil { works.insert(topic) }
            case 3 where !works.contains(topic) && !isEnding:
                // It failed: only half of what it took had an outcome.
                let kept = (taken[topic] ?? []).prefix((taken[topic] ?? []).count / 2)
                let next = (taken[topic] ?? []).dropFirst(kept.count).first
                taken[topic] = Array(kept)
                if let next { parked.rewind(topic, to: next) }
            default:
                let works = works
                if parked.read(wants: { works.contains($0) }) == .stop { continue }
                for _ in 0..<Int.random(in: 1...9, using: &random) {
                    guard let position = parked.position, position < log.count else { break }
                    let here = log[Int(position)]
                    if parked.takes(here, at: position) {
                        if !works.contains(here) || random.chance(isEnding ? 0 : 20) {
                            parked.leave(here, at: position)
                        } else {
                            taken[here, default: []].append(position)
                        }
                    }
                    parked.passed(upTo: position + 1)
                }
            }
            for topic in 1...3 as ClosedRange<UInt64> {
                let all = log.indices.filter { log[$0] == topic }.map { Int64($0) }
                let mine = taken[topic] ?? []
                #expect(mine == Array(all.prefix(mine.count)), "in order, without a hole")
                #expect(!parked.isCaughtUp(topic) || mine == all)
            }
        }
        for topic in 1...3 as ClosedRange<UInt64> { #expect(outstanding.contains(topic) || parked.isCaughtUp(topic)) }
    }
}
