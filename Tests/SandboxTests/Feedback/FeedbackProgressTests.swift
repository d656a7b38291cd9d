import Testing

@testable import Sandbox

struct FeedbackProgressTests {
    @Test("As many tuples have arrived as the bytes that have say, whole chunks and parts of one")
    func arrival() {
        var progress = FeedbackProgress(start: 1000)
        progress.wrote(tuples: 10, upTo: 1400)
        progress.wrote(tuples: 5, upTo: 1610)
        let steps: [(bytes: UInt64, tuples: Int)] = [
            (0, 0), (1000, 0), (1039, 0), (1040, 1), (1399, 9), (1400, 10), (1441, 10), (1442, 11), (1610, 15),
            (9999, 15),
        ]
        for step in steps {
            let tuples = progress.tuples(arrivedBytes: step.bytes)
            #expect(tuples == step.tuples, "\(step.bytes)")
        }
        progress.wrote(tuples: 1, upTo: 10_000)
        let last = progress.tuples(arrivedBytes: 10_000)
        #expect(last == 16)
    }
}
