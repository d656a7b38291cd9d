import PushSchemas
import Testing
import Workbench

@testable import belfry_bench

/// The records of the hostile benchmark, and its numbers.
@Suite("Hostile records")
struct HostileRecordTests {
    private static let bundle = "com.example.news"

    private static func record(_ aim: HostileCase, bytes: Int, seed: UInt64 = 1) -> HostileRecord {
        var random = SeededGenerator(seed: seed)
        return aim.record(of: bundle, bytes: bytes, &random)
    }

    private static func faults(_ record: HostileRecord) -> RecordError? {
        let type = record.headers.first { $0.name == RecordContentType.headerName }
        let contentType = type.map { $0.value.withUnsafeBytes { RecordContentType(header: $0) } } ?? .protobuf
        return record.value.withUnsafeBytes { value in
            do throws(RecordError) {
                _ = try SendRequestView(decoding: value, as: contentType)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("Each case keeps to its size, uses much of it, and comes again", arguments: HostileCase.allCases)
    func sizes(aim: HostileCase) {
        for bytes in [4096, 60_000] {
            let record = Self.record(aim, bytes: bytes)
            #expect(record.value.count <= bytes)
            #expect(!record.headers.isEmpty || record.bytes >= bytes / 3, "\(record.bytes) of \(bytes)")
            #expect(record == Self.record(aim, bytes: bytes))
        }
    }

    @Test("Each case passes the decoder, whose work it is to be, but for parts beyond its limits")
    func decodable() {
        let undecodable = HostileCase.allCases.filter { Self.faults(Self.record($0, bytes: 4096)) != nil }
        #expect(undecodable == [.repeatedNotification, .unknownFields])
    }

    @Test("The longest hold is the bound of the highest bucket that grew")
    func holds() {
        func text(_ counts: [Int]) -> MetricNumbers {
            let bounds = ["0.05", "0.1", "+Inf"]
            let lines = zip(bounds, counts).map { "t_bucket{le=\"\($0)\"} \($1)" }
            return MetricNumbers((["# TYPE t histogram"] + lines + ["t_count \(counts[2])"]).joined(separator: "\n"))
        }
        #expect(text([4, 5, 5]).highestBound(of: "t", since: text([3, 4, 4])) == 0.05)
        #expect(text([4, 6, 6]).highestBound(of: "t", since: text([3, 4, 4])) == 0.1)
        #expect(text([4, 5, 6]).highestBound(of: "t", since: text([3, 4, 4])) == .infinity)
        #expect(text([4, 5, 6]).highestBound(of: "t", since: text([4, 5, 6])) == 0)
        #expect(text([4, 5, 6]).sum(of: "t_count") == 6)
    }

    @Test("A case passes within 50 ms and with eight tenths counted; the total has the worst of both")
    func judgement() throws {
        var slow = HostileReport(name: "a", records: 2, recordBytes: 100, worstMilliseconds: 50, deadLetterBytes: 50)
        var uncounted = HostileReport(name: "b", records: 1, recordBytes: 100, countedRatio: 0.8)
        #expect(slow.passed && uncounted.passed && HostileReport.total(of: [slow, uncounted]).passed)
        slow.worstMilliseconds = 100
        #expect(!slow.passed && !HostileReport.total(of: [slow, uncounted]).passed)
        slow.worstMilliseconds = 10
        uncounted.countedRatio = 0.79
        slow.healthyMilliseconds = 7
        let total = HostileReport.total(of: [slow, uncounted])
        #expect(!total.passed && total.worstMilliseconds == 10 && total.countedRatio == 0.79)
        let line = try total.line()
        #expect(try HostileReport.fields.unexplained(inLine: line) == [])
        #expect(line.contains(#""dead_letter_bytes_per_record_byte":0.25"#) && line.contains(#""records":3"#))
    }
}
