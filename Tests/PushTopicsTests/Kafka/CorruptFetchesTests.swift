import Logging
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import PushTopics

@Suite("Fetches that cannot be read")
struct CorruptFetchesTests {
    private static let place = KafkaTopicPartition(topic: "push.requests", partition: 3)

    private static func error(_ code: Int32) -> KafkaError {
        KafkaError(code: code, name: "", message: "", isRetriable: false, isFatal: false)
    }

    @Test("Every one is counted, and of many a few are told, which count those between")
    func budget() {
        let lines = LogLines()
        var fetches = CorruptFetches()
        func note(second: Int64) -> Bool {
            let now = MonotonicTime(nanoseconds: 1) + .seconds(second)
            return fetches.note(Self.error(-199), of: Self.place, offset: 7, now: now, logger: lines.logger)
        }
        for _ in 0..<1000 { #expect(note(second: 0)) }
        #expect(note(second: 10))
        #expect(fetches.count == 1001)
        let told = lines.metadata(of: "fetched records are corrupt; fetching them again").map { $0["passed-over"] }
        #expect(told == Array(repeating: "0", count: 10) + ["990"])
    }

    @Test("A wrong checksum and bytes that are no records are such errors, and others are their finders' to tell")
    func kinds() {
        var fetches = CorruptFetches()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let now = MonotonicTime(nanoseconds: 1)
        let codes: [(Int32, Bool)] = [(-199, true), (-198, true), (2, true), (4, true), (1, false), (-195, false)]
        for (code, isCorrupt) in codes {
            let error = Self.error(code)
            let isNoted = fetches.note(error, of: Self.place, offset: 7, now: now, logger: logger)
            #expect(isNoted == isCorrupt, "\(code)")
        }
        #expect(fetches.count == 4)
    }
}
