import APNsProtocol
import HTTP2Transport
import NIOCore
import Testing

@testable import belfry_bench

@Suite("The provider API of the isolation benchmark")
struct StreamGatewayTests {
    /// A client on one connection to a gateway of the topics `a` and `b`, each of which has published a record for
    /// device 3.
    private struct Connection {
        let ledgers = ["a": Self.ledger(), "b": Self.ledger()]
        private let client = HTTP2ClientSession()
        private let session: StreamGatewaySession
        private(set) var statuses: [Int] = []
        private(set) var turn = GatewayTurn()

        init() {
            session = StreamGatewaySession(ledgers: ledgers)
            var bytes = ByteBuffer()
            session.begin(output: &bytes)
            client.receive(bytes, now: .uptimeNanoseconds(0))
            takeAnswers()
        }

        private static func ledger() -> SharedLedger {
            let ledger = SharedLedger(
                DeliveryLedger(partitions: 1, devicesPerPartition: 10, tokensPerRecord: 1, keepsSamples: false)
            )
            ledger.with { _ = $0.publish(firstDevice: 3, now: 0) }
            return ledger
        }

        /// Sends requests for device 3 at once, and takes the answers.
        mutating func send(_ requests: (topic: String, kind: TokenKind)...) throws {
            for request in requests {
                var token: [UInt8] = []
                DeviceToken.append(device: 3, kind: request.kind, to: &token)
                var fields = HTTP2Fields()
                fields.append(":method", "POST")
                fields.append(":scheme", "https")
                fields.append(":authority", "localhost")
                fields.append(":path", ProviderPath.text(token: token))
                fields.append("apns-topic", request.topic)
                var body: [UInt8] = []
                NumberedPayload.append(0, to: &body)
                _ = try client.openStream(fields, body: ByteBuffer(bytes: body), tag: 0)
            }
            var bytes = ByteBuffer()
            client.takeOutput(into: &bytes)
            var answers = ByteBuffer()
            turn = session.receive(bytes, now: 7, output: &answers)
            client.receive(answers, now: .uptimeNanoseconds(7))
            takeAnswers()
        }

        private mutating func takeAnswers() {
            while let event = client.nextEvent() {
                if case .response(_, _, let status, _) = event { statuses.append(status) }
            }
        }

        func distinct(_ topic: String) -> Int? { ledgers[topic]?.with { $0.distinct } }
    }

    @Test("Good tokens are accepted in the books of the topic that the request names")
    func accepted() throws {
        var connection = Connection()
        try connection.send(("b", .good))
        #expect(connection.statuses == [200])
        #expect(connection.distinct("a") == 0 && connection.distinct("b") == 1)
        #expect(connection.turn == GatewayTurn())
    }

    @Test("A refusal concerns its own request, and the connection goes on")
    func refused() throws {
        var connection = Connection()
        try connection.send(("a", .invalid), ("a", .forbidden), ("c", .good), ("b", .good))
        #expect(connection.statuses == [400, 403, 400, 200])
        #expect(connection.turn == GatewayTurn(refused: 3))
        #expect(connection.distinct("a") == 0 && connection.distinct("b") == 1)
    }

    @Test("A poisonous token ends the connection: answered is what came before it, and nothing behind it is accepted")
    func poisoned() throws {
        var connection = Connection()
        try connection.send(("a", .good), ("a", .poison), ("b", .good))
        #expect(connection.statuses == [200])
        #expect(connection.turn == GatewayTurn(poisoned: 1, isOver: true))
        #expect(connection.distinct("a") == 1 && connection.distinct("b") == 0)
    }
}
