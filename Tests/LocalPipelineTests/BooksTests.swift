import PushSchemas
import Testing

@testable import LocalPipeline

@Suite("Books of a pipeline's client")
struct BooksTests {
    @Test("A notification has one outcome, and another one at the same place in each lane")
    func lanes() {
        var books = Books()
        books.publish(notifications: 3)
        let outcome = PushOutcome.with { $0.kind = .confirmed }
        for lane in RequestLane.allCases {
            for _ in 0..<2 { books.noteOutcome(outcome, in: lane) }
        }
        #expect(books.missing == 0 && books.repeated == 3 && books.count(.confirmed) == 3)
        for lane in RequestLane.allCases {
            #expect(books.outcomes[.init(lane: lane, partition: 0, offset: 0, token: 0)] == .confirmed)
        }
    }
}
