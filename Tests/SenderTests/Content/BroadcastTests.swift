import APNsProtocol
import BelfrySupport
import Foundation
import HTTP2Transport
import KafkaClient
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import Sender

/// Requests to channels, from the record to the header fields.
@Suite("Broadcasts")
struct BroadcastTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="

    /// The batch of a request to the channel that is in order, but for what `fill` changes.
    private func take(
        _ bench: IntakeBench,
        shard: UInt32? = nil,
        _ fill: (inout PushSendRequest) -> Void = { _ in }
    ) throws -> PreparedBatch? {
        try bench.take(shard: shard) {
            $0.packedTokens = Data()
            $0.channel = Self.channel
            $0.expiration = 0
            $0.priority = 10
            fill(&$0)
        }
    }

    // MARK: Intake

    @Test("A broadcast is one notification, with the channel's id in place of the token")
    func oneNotification() throws {
        let batch = try #require(try take(IntakeBench()))
        #expect(batch.count == 1 && batch.hasBroadcasts)
        #expect(batch.positions == [0])
        #expect(String(decoding: batch.tokens[0], as: UTF8.self) == Self.channel)
        #expect(batch.checksums == [CRC32.checksum(batch.tokens[0])])
        #expect(batch.records.first?.isBroadcast == true)
        let content = try batch.streamContent()
        #expect(content.pushType == .liveactivity && content.priority == .immediate)
    }

    @Test("A request to tokens is no broadcast")
    func tokens() throws {
        let batch = try #require(try IntakeBench().take { _ in })
        #expect(!batch.hasBroadcasts && batch.records.first?.isBroadcast == false)
    }

    @Test("A broadcast without expiration or priority is a dead letter that says which is missing; 0 is an expiration")
    func requiredFields() throws {
        let bench = IntakeBench()
        for priority in [1, 5, 10] as [UInt32] { #expect(try take(bench) { $0.priority = priority } != nil) }
        #expect(try take(bench) { $0.clearExpiration() } == nil)
        #expect(try take(bench) { $0.clearPriority() } == nil)
        let neither = try take(bench) {
            $0.clearExpiration()
            $0.clearPriority()
        }
        #expect(neither == nil)
        #expect(
            bench.letters == [
                "broadcast-incomplete: 'expiration' must be set with 'channel'",
                "broadcast-incomplete: 'priority' must be set with 'channel'",
                "broadcast-incomplete: 'expiration' and 'priority' must be set with 'channel'",
            ]
        )
    }

    @Test("A broadcast has the push type of Live Activities, named or not, and no other")
    func pushType() throws {
        let bench = IntakeBench()
        #expect(try take(bench) { $0.pushType = "liveactivity" }?.streamContent().pushType == .liveactivity)
        for name in ["alert", "LiveActivity"] { #expect(try take(bench) { $0.pushType = name } == nil) }
        #expect(bench.letters.count == 2 && bench.letters.allSatisfy { $0.hasPrefix("push-type-invalid: ") })
    }

    @Test("A channel that is no channel id is a dead letter")
    func wrongChannels() throws {
        let bench = IntakeBench()
        let wrong = ["x", "dHN0LXNyY2gtY2hubA", "dHN0LXNyY2gtY2hubB==", "dHN0-XNyY2gtY2hubA==", "größe123"]
        for channel in wrong + [String(repeating: "A", count: 104)] {
            #expect(try take(bench) { $0.channel = channel } == nil)
        }
        #expect(bench.letters.count == wrong.count + 1)
        #expect(bench.letters.allSatisfy { $0.hasPrefix("channel-invalid: ") })
    }

    @Test("A broadcast has up to 5120 bytes of payload")
    func payload() throws {
        let bench = IntakeBench()
        for (bytes, isTaken) in [(4097, true), (5120, true), (5121, false)] {
            let frame = #"{"aps":{"x":""}}"#
            let text = #"{"aps":{"x":""# + String(repeating: "x", count: bytes - frame.utf8.count) + #""}}"#
            #expect((try take(bench) { $0.payload = Data(text.utf8) } != nil) == isTaken)
        }
        #expect(bench.letters.count == 1 && bench.letters.allSatisfy { $0.hasPrefix("payload-invalid: ") })
    }

    @Test("A channel belongs under the key of its shard, as a token does")
    func shards() throws {
        let bench = IntakeBench(spread: 4)
        let shard = Array(Self.channel.utf8).withUnsafeBytes { CRC32.checksum($0) % 4 }
        #expect(try take(bench, shard: shard) != nil)
        #expect(try take(bench, shard: (shard + 1) % 4) == nil)
        #expect(bench.letters.count == 1 && bench.letters.allSatisfy { $0.hasPrefix("token-outside-shard: ") })
    }

    @Test("The outcome of a broadcast has no token")
    func outcomeWithoutToken() throws {
        for channel in ["", Self.channel] {
            let request = PushSendRequest.with {
                $0.payload = Data("{}".utf8)
                if channel.isEmpty { $0.packedTokens = Data(repeating: 1, count: 32) } else { $0.channel = channel }
            }
            let record = KafkaRecord(
                topic: IntakeBench.requests,
                partition: 0,
                offset: 0,
                key: Array(IntakeBench.bundleID.utf8),
                value: try request.serializedBytes()
            )
            let reread = RereadRecord(feed: 1, record: 0, batch: KafkaBatch([record]), index: 0)
            #expect((reread.token(at: 0) == nil) == !channel.isEmpty)
        }
    }

    // MARK: The request

    @Test("A broadcast goes to its app's path with the channel in a header, and without a topic")
    func headerFields() throws {
        let batch = try #require(
            try take(IntakeBench()) {
                $0.expiration = 1_700_000_000
                $0.priority = 5
            }
        )
        let content = try batch.streamContent()
        let id = content.ids.id(token: batch.tokens[0], index: 0)
        let request = StreamRequest(
            content: content,
            token: batch.tokens[0],
            id: id,
            authorization: Array("bearer x".utf8)
        )
        var fields = BroadcastFields(authority: "api.example", hasAuthorization: true)
        fields.write(request, path: try #require(content.broadcastPath))
        #expect(
            try received(fields.fields, content.body) == [
                ":method": "POST", ":scheme": "https", ":authority": "api.example",
                ":path": "/4/broadcasts/apps/com.example.news", "authorization": "bearer x",
                "apns-push-type": "liveactivity", "apns-priority": "5", "apns-expiration": "1700000000",
                "apns-channel-id": Self.channel, "apns-request-id": id.text(),
            ]
        )
    }

    /// The fields of a request as a server reads them.
    private func received(_ fields: borrowing HTTP2Fields, _ body: ByteBuffer) throws -> [String: String] {
        let client = HTTP2ClientSession()
        let server = HTTP2ServerSession()
        try client.openStream(fields, body: body, tag: 0)
        var output = ByteBuffer()
        client.takeOutput(into: &output)
        server.receive(output, now: .uptimeNanoseconds(0))
        var found: [String: String] = [:]
        while let event = server.nextEvent() {
            guard case .request(_, let message) = event else { continue }
            message.forEachField { name, value in
                found[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
            }
        }
        return found
    }
}
