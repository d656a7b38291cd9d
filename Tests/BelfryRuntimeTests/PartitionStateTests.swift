import KafkaClient
import Testing

@testable import BelfryRuntime
@testable import PipelineCore

@Suite struct PartitionStateTests {
    private static let count = 20

    /// Twenty records of two tokens each, from batches of up to seven; record numbers from `first`.
    private func filled(first: UInt32) throws -> (state: PartitionState, batches: [KafkaBatch]) {
        let batches = try consume(
            (0..<Self.count).map { TestRecord(key: nil, value: Array("\($0)".utf8)) },
            max: 7
        )
        let state = PartitionState(
            topic: "records",
            partition: 0,
            assignment: 9,
            startOffset: 0,
            alreadyDone: DoneRanges()
        )
        state.frontier = CommitFrontier(firstNumber: first)
        for batch in batches {
            for index in 0..<batch.count {
                let number = state.frontier.append(
                    offset: batch[index].offset,
                    tokens: 2,
                    alreadyDone: state.alreadyDone
                )
                let takenAt = MonotonicTime(nanoseconds: UInt64(number))
                state.keepSource(record: number, batch: batch, index: index, takenAt: takenAt)
            }
        }
        return (state, batches)
    }

    private func text(_ state: PartitionState, _ record: UInt32) -> String? {
        state.source(of: record).map { String(decoding: $0.batch[$0.index].value, as: UTF8.self) }
    }

    @Test(
        "Every record that is not done leads to its source, also where record numbers wrap",
        arguments: [0, UInt32.max - 8]
    )
    func sources(first: UInt32) throws {
        let (state, batches) = try filled(first: first)
        #expect(batches.count >= 3)
        for number in 0..<UInt32(Self.count) { #expect(text(state, first &+ number) == "\(number)") }
        #expect(state.source(of: first &- 1) == nil)
        #expect(state.source(of: first &+ UInt32(Self.count)) == nil)
    }

    @Test("A batch is let go when the frontier has passed its last record, not before", arguments: [0, UInt32.max - 8])
    func trimming(first: UInt32) throws {
        var (state, batches) = try filled(first: first)
        let firstCount = UInt32(batches[0].count)
        weak let oldest = batches[0]
        batches.removeAll()
        for number in 0..<firstCount - 1 {
            for token in UInt32(0)..<2 { state.frontier.markDone(first &+ number, token: token) }
        }
        state.trimSources()
        #expect(oldest != nil)
        #expect(text(state, first &+ (firstCount - 1)) == "\(firstCount - 1)")
        state.frontier.markDone(first &+ (firstCount - 1), token: 0)
        state.trimSources()
        #expect(oldest != nil)
        state.frontier.markDone(first &+ (firstCount - 1), token: 1)
        state.trimSources()
        #expect(oldest == nil)
        #expect(state.source(of: first) == nil)
        for number in firstCount..<UInt32(Self.count) { #expect(text(state, first &+ number) == "\(number)") }
    }

    @Test("The oldest record that is not done tells how long it has been waiting; when all are done, nothing waits")
    func oldest() throws {
        let (state, batches) = try filled(first: 0)
        let later = UInt32(batches[0].count)
        #expect(state.oldestTakenAt == MonotonicTime(nanoseconds: 0))
        for number in 0..<later {
            for token in UInt32(0)..<2 { state.frontier.markDone(number, token: token) }
        }
        #expect(state.oldestTakenAt == MonotonicTime(nanoseconds: UInt64(later)))
        for number in later..<UInt32(Self.count) {
            for token in UInt32(0)..<2 { state.frontier.markDone(number, token: token) }
        }
        #expect(state.oldestTakenAt == nil)
    }

    @Test("What is done out of order keeps its source until the frontier has come there")
    func outOfOrder() throws {
        let (state, batches) = try filled(first: 0)
        for number in 1..<UInt32(Self.count) {
            for token in UInt32(0)..<2 { state.frontier.markDone(number, token: token) }
        }
        state.trimSources()
        for number in 0..<UInt32(Self.count) { #expect(text(state, number) == "\(number)") }
        for token in UInt32(0)..<2 { state.frontier.markDone(0, token: token) }
        state.trimSources()
        for number in 0..<UInt32(Self.count) { #expect(state.source(of: number) == nil) }
        withExtendedLifetime(batches) {}
    }
}
