import LocalPipeline
import PushSchemas
import Testing

@testable import Demo

struct DemoReportTests {
    /// Books with one outcome of each of these kinds.
    private static func books(_ kinds: OutcomeKind...) -> Books {
        var books = Books()
        books.publish(notifications: kinds.count)
        for (index, kind) in kinds.enumerated() {
            books.noteOutcome(
                .with {
                    $0.tokenIndex = UInt32(index)
                    $0.kind = kind.message
                }
            )
        }
        return books
    }

    @Test("Over HTTP/2 an outcome that no answer leads to is a complaint")
    func unproven() {
        let complaints = DemoReport.unproven(Self.books(.confirmed, .presumed, .presumed, .unknown), over: .http2)
        #expect(complaints.count == 2)
        #expect(DemoReport.unproven(Self.books(.confirmed, .rejected, .tombstoned), over: .http2) == [])
    }

    @Test("Over the binary interface silence is an answer, and some fates stay unknown")
    func silence() {
        #expect(DemoReport.unproven(Self.books(.confirmed, .presumed, .unknown), over: .binary) == [])
    }

    @Test("The books keep the reasons of rejections, each notification's first")
    func reasons() {
        var books = Books()
        let told: [(UInt32, String)] = [
            (0, "BadDeviceToken"), (1, "BadDeviceToken"), (2, "TopicDisallowed"), (2, "BadTopic"),
        ]
        for (index, reason) in told {
            books.noteOutcome(
                .with {
                    $0.tokenIndex = index
                    $0.kind = .rejected
                    $0.reason = reason
                }
            )
        }
        #expect(books.rejections == ["BadDeviceToken": 2, "TopicDisallowed": 1])
    }
}
