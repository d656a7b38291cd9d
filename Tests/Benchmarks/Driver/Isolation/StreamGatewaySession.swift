import APNsProtocol
import HTTP2Transport
import NIOCore

/// The provider API, as far as the load needs it: every request is answered in the call that completes it.
final class StreamGatewaySession: GatewaySession {
    private enum Ruling {
        case accepted
        case refused(status: Int, ProviderReason)
        case poisoned
    }

    /// By topic.
    private let ledgers: [String: SharedLedger]
    private let http = HTTP2ServerSession()
    private let success = HTTP2Fields()
    private var failure = HTTP2Fields()

    init(ledgers: [String: SharedLedger]) {
        self.ledgers = ledgers
        failure.append("content-type", "application/json")
    }

    func begin(output: inout ByteBuffer) {
        http.takeOutput(into: &output)
    }

    func receive(_ bytes: ByteBuffer, now: Int64, output: inout ByteBuffer) -> GatewayTurn {
        var turn = GatewayTurn()
        http.receive(bytes, now: .uptimeNanoseconds(UInt64(now)))
        while !turn.isOver, let event = http.nextEvent() {
            guard case .request(let stream, let message) = event else { continue }
            switch judge(message, now) {
            case .accepted:
                http.respond(to: stream, status: 200, success)
            case .refused(let status, let reason):
                let body = ByteBuffer(bytes: ProviderErrorBody(reason: reason).json)
                http.respond(to: stream, status: status, failure, body: body)
                turn.refused += 1
            case .poisoned:
                turn.poisoned = 1
                turn.isOver = true
            }
        }
        http.takeOutput(into: &output)
        if http.isFinished { turn.isOver = true }
        return turn
    }

    private func judge(_ message: HTTP2Message, _ now: Int64) -> Ruling {
        guard let topic = message.value(of: "apns-topic"), let ledger = ledgers[topic] else {
            return .refused(status: 400, .badTopic)
        }
        guard let (device, kind) = message.withValue(of: ":path", Self.token) ?? nil,
            let number = message.withBody(NumberedPayload.read)
        else { return .refused(status: 400, .badDeviceToken) }
        switch kind {
        case .good:
            ledger.with { $0.accept(record: number, device: device, now: now) }
            return .accepted
        case .poison: return .poisoned
        case .invalid, .malformed: return .refused(status: 400, .badDeviceToken)
        case .forbidden: return .refused(status: 403, .forbidden)
        }
    }

    /// Nil: none of ours.
    private static func token(of path: UnsafeRawBufferPointer) -> (device: UInt32, kind: TokenKind)? {
        do throws(ProviderReason) {
            return try ProviderPath.withToken(of: path) { DeviceToken.read($0) }
        } catch {
            return nil
        }
    }
}
