import APNsProtocol
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import HTTP2Transport
@testable import Sender

/// Header fields of requests on the wire.
@Suite("Header fields of requests")
struct RequestFieldsTests {
    /// A provider token has some 220 bytes.
    private static let authorization = Array("bearer ".utf8) + [UInt8](repeating: UInt8(ascii: "k"), count: 220)

    private func content() throws -> StreamContent {
        let batch = try #require(try IntakeBench().take { $0.collapseID = "score" })
        let record = try #require(batch.records.first)
        let provider = try #require(record.provider)
        let content = NotificationContent(
            payload: batch.content(of: record.notifications.lowerBound, in: record).payload,
            expiration: 2_000_000_000,
            priority: record.priority,
            provider: provider
        )
        return StreamContent(content, provider, bundleID: "com.example.news")
    }

    /// The bytes of the blocks of fields of so many requests, each to another token, and the table's size after each.
    private func blocks(_ count: Int) throws -> [(bytes: Int, table: Int)] {
        let session = HTTP2ClientSession(streamsBeforeSettings: 1000)
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        var fields = RequestFields(authority: "api.push.apple.com", hasAuthorization: true)
        let content = try content()
        return try (0..<count).map { number in
            let token = [UInt8](repeating: UInt8(number), count: 32)
            try token.withUnsafeBytes { token in
                let id = content.ids.id(token: token, index: UInt32(number))
                fields.write(StreamRequest(content: content, token: token, id: id, authorization: Self.authorization))
                try session.openStream(fields.fields, body: ByteBuffer(), tag: 0)
            }
            let bytes = session.outputBytes - FrameScanner.headerBytes
            output.clear()
            session.takeOutput(into: &output)
            return (bytes, session.encoderTableBytes)
        }
    }

    @Test("What repeats takes a byte; a hundred paths, ids, times and collapse ids push nothing out of the table")
    func steady() throws {
        let blocks = try blocks(100)
        #expect(blocks[0].bytes > 200)
        // Names and values of the last three stand in each block, with a byte for the kind and one for each length.
        let (id, expiration, collapseID) = (3 + 7 + 36, 3 + 15 + 10, 3 + 16 + 5)
        #expect(blocks.dropFirst().allSatisfy { $0.bytes <= 75 + id + expiration + collapseID })
        #expect(Set(blocks.map(\.table)).count == 1, "nothing is added after the first")
    }
}
