import TestSupport
import Testing

@testable import PipelineCore

/// Random records, random orders of outcomes, crashes and restarts against a naive model.
@Suite struct CommitFrontierPropertyTests {
    /// The content of a commit.
    private struct Position {
        var offset: Int64
        var metadata: String

        /// Nil before anything was consumed.
        init?(of frontier: CommitFrontier, limitBytes: Int) {
            guard let offset = frontier.frontierOffset else { return nil }
            self.offset = offset
            let ranges = frontier.doneRanges(limit: limitBytes / DoneRanges.shortestRunBytes + 1)
            metadata = ranges.encoded(committedOffset: offset, limitBytes: limitBytes)
        }
    }

    /// A partition: what it holds, and which of it has its outcome.
    private struct Partition {
        struct Record {
            var offset: Int64
            var tokens: Int
        }

        var records: [Record] = []
        var done: Set<DoneRanges.Position> = []
        /// Positions that were done when the last commit was made.
        var doneAtCommit: Set<DoneRanges.Position> = []

        init(random: inout SeededGenerator) {
            var offset = Int64.random(in: 0...1_000_000, using: &random)
            for _ in 0..<Int.random(in: 5...60, using: &random) {
                let tokens =
                    random.chance(10) ? Int.random(in: 65...300, using: &random) : .random(in: 0...64, using: &random)
                records.append(.init(offset: offset, tokens: tokens))
                offset += random.chance(20) ? .random(in: 2...50, using: &random) : 1
            }
        }
    }

    @Test(
        "A restart from the commit sends everything undone, and nothing done when the metadata fits",
        arguments: trials(150)
    )
    func restarts(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var partition = Partition(random: &random)
        let limit = random.chance(50) ? 4096 : Int.random(in: 0...200, using: &random)
        var committed: Position?
        var hasLeftOut = false
        for _ in 0..<20 {
            // Progress after the last commit died with the process.
            partition.done = partition.doneAtCommit
            let start = committed?.offset ?? 0
            let before = try DoneRanges(decoding: committed?.metadata ?? "", committedOffset: start)
            var frontier = CommitFrontier(firstNumber: random.chance(50) ? 0 : UInt32.max - 3)
            var numbers: [(number: UInt32, record: Partition.Record)] = []
            // Every record before the commit must be done: else it is lost.
            for record in partition.records where record.offset < start {
                for token in 0..<UInt32(record.tokens) {
                    #expect(partition.done.contains(.init(offset: record.offset, token: token)), "seed \(seed)")
                }
            }
            var open: [(UInt32, DoneRanges.Position)] = []
            for record in partition.records where record.offset >= start {
                if random.chance(15) { break }
                let number = frontier.append(offset: record.offset, tokens: record.tokens, alreadyDone: before)
                frontier.advance()
                numbers.append((number, record))
                for token in 0..<UInt32(record.tokens) {
                    let position = DoneRanges.Position(offset: record.offset, token: token)
                    let isDone = partition.done.contains(position)
                    if frontier.isDone(number, token: token) {
                        #expect(isDone, "seed \(seed): \(position) is skipped")
                    } else {
                        #expect(!isDone || hasLeftOut, "seed \(seed): \(position) is repeated")
                        open.append((number, position))
                    }
                }
                // Commits in mid-way, too.
                if random.chance(20) { committed = try commit(frontier, &partition, limit, &hasLeftOut) ?? committed }
            }
            open.shuffle(using: &random)
            for (number, position) in open.prefix(.random(in: 0...open.count, using: &random)) {
                frontier.markDone(number, token: position.token)
                partition.done.insert(position)
                if random.chance(2) { committed = try commit(frontier, &partition, limit, &hasLeftOut) ?? committed }
            }
            let unspent = numbers.filter {
                frontier.firstRecord &- $0.number > 1000 || frontier.firstRecord == $0.number
            }
            #expect(frontier.uncommitted == unspent.reduce(0) { $0 + $1.record.tokens })
            #expect(frontier.recordCount == unspent.count)
            // A crash: the last commit may or may not have been made.
            if random.chance(70) { committed = try commit(frontier, &partition, limit, &hasLeftOut) ?? committed }
        }
    }

    private func commit(
        _ frontier: CommitFrontier,
        _ partition: inout Partition,
        _ limit: Int,
        _ hasLeftOut: inout Bool
    ) throws -> Position? {
        guard let position = Position(of: frontier, limitBytes: limit) else { return nil }
        #expect(position.metadata.utf8.count <= limit)
        let told = try DoneRanges(decoding: position.metadata, committedOffset: position.offset)
        let all = frontier.doneRanges()
        #expect(told.runs == Array(all.runs.prefix(told.runs.count)))
        if told.runs.count < all.runs.count { hasLeftOut = true }
        partition.doneAtCommit = partition.done
        return position
    }

    @Test("Metadata stays within 4 KiB however scattered the done ones are, and uses most of it")
    func limit() throws {
        var frontier = CommitFrontier()
        let numbers = (0..<2000).map { frontier.append(offset: Int64($0), tokens: 50, alreadyDone: DoneRanges()) }
        for number in numbers {
            for token in stride(from: UInt32(1), to: 50, by: 2) { frontier.markDone(number, token: token) }
        }
        let position = try #require(Position(of: frontier, limitBytes: 4096))
        #expect(position.metadata.utf8.count <= 4096 && position.metadata.utf8.count > 4000)
        #expect(position.offset == 0)
    }

    @Test("Spent records are let go: a long run keeps only what is not done")
    func memory() {
        var frontier = CommitFrontier()
        for offset in 0..<100_000 as Range<Int64> {
            let number = frontier.append(offset: offset, tokens: 100, alreadyDone: DoneRanges())
            for token in 0..<100 as Range<UInt32> { frontier.markDone(number, token: token) }
        }
        #expect(frontier.recordCount == 0 && frontier.uncommitted == 0)
        #expect(frontier.records.count <= 2048)
    }
}
