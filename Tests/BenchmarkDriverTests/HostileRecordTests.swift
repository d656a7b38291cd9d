import PushSchemas
import Testing
import Workbench

@testable import belfry_bench

/// The records of the hostile benchmark.
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
}
