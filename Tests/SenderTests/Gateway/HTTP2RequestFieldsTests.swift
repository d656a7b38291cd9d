import APNsProtocol
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import HTTP2Transport
@testable import Sender

/// Header fields of requests on the wire.
@Suite("Header fields of requests")
struct HTTP2RequestFieldsTests {
    /// The provider token of this number: they have some 220 bytes.
    private static func authorization(_ number: Int) -> [UInt8] {
        Array("bearer \(number)".utf8) + [UInt8](repeating: UInt8(ascii: "k"), count: 220)
    }

    private func content() throws -> StreamContent {
        try IntakeBench().content {
            $0.collapseID = "score"
            $0.expiration = 2_000_000_000
        }
    }

    /// The bytes of the blocks of fields of so many requests, each to another token, and the table's size after each.
    ///
    /// - Parameter renewal: requests with the same provider token; nil: all.
    private func blocks(_ count: Int, renewal: Int? = nil) throws -> [(bytes: Int, table: Int)] {
        let session = HTTP2ClientSession(streamsBeforeSettings: 1000)
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        var fields = HTTP2RequestFields(authority: "api.push.apple.com", hasAuthorization: true)
        let content = try content()
        return try (0..<count).map { number in
            let token = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
            try token.withUnsafeBytes { token in
                let id = content.ids.id(token: token, index: UInt32(number))
                let authorization = Self.authorization(number / (renewal ?? count))
                fields.write(StreamRequest(content: content, token: token, id: id, authorization: authorization))
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
        #expect(blocks.dropFirst().allSatisfy { $0.bytes <= Self.steadyBytes }, "\(blocks.map(\.bytes))")
        #expect(Set(blocks.map(\.table)).count == 1, "nothing is added after the first")
    }

    /// Values of the last three stand in each block, in Huffman code, with two bytes for the name's place in the table
    /// and one for the length: 47 bytes. Their names would take 28 more.
    private static let steadyBytes = 120

    @Test("Names that new provider tokens push out of the table come back with the next one")
    func renewed() throws {
        let blocks = try blocks(300, renewal: 10)
        // The first two of a provider token bring it into the table, and all that it pushed out.
        let steady = blocks.enumerated().filter { $0.offset % 10 > 1 }
        #expect(steady.allSatisfy { $0.element.bytes <= Self.steadyBytes }, "\(blocks.map(\.bytes))")
        #expect(blocks.allSatisfy { $0.table <= 4096 })
    }
}
