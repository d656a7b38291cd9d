import APNsProtocol
import NIOCore

/// The protocol of one connection to a gateway: bytes in, answers out, and what was accepted into the ledgers.
///
/// Without sockets. Belongs to one thread.
protocol GatewaySession: AnyObject {
    /// Adds the first words of a server, if it has any, to the end of `output`.
    func begin(output: inout ByteBuffer)

    /// Takes the next bytes from the connection, in any chunks, and adds the answers to the end of `output`.
    ///
    /// - Parameter now: of ``SharedLedger/now``.
    func receive(_ bytes: ByteBuffer, now: Int64, output: inout ByteBuffer) -> GatewayTurn
}

/// The events of one call.
struct GatewayTurn: Equatable {
    /// Notifications refused with an answer.
    var refused = 0
    /// Poisonous notifications, for which the connection ends without a word.
    var poisoned = 0
    /// Nothing more is taken: the connection ends behind the output.
    var isOver = false
}

/// The binary interface: silence, until the first notification that is refused.
final class BinaryGatewaySession: GatewaySession {
    private let ledger: SharedLedger
    private var decoder = GatewayFrameDecoder(limits: GatewayLimits())

    /// - Parameter ledgers: by topic: one.
    init(ledgers: [String: SharedLedger]) {
        guard let ledger = ledgers.values.first else { preconditionFailure("a gateway has a topic") }
        self.ledger = ledger
    }

    func begin(output: inout ByteBuffer) {}

    func receive(_ bytes: ByteBuffer, now: Int64, output: inout ByteBuffer) -> GatewayTurn {
        var isPoisoned = false
        let outcome = bytes.withUnsafeReadableBytes { bytes in
            ledger.with { ledger in
                decoder.decode(bytes) { notification in
                    guard let (device, kind) = DeviceToken.read(notification.token),
                        let number = NumberedPayload.read(notification.payload)
                    else { return .processingError }
                    switch kind {
                    case .good:
                        ledger.accept(record: number, device: device, now: now)
                        return nil
                    case .poison:
                        isPoisoned = true
                        return .unknown
                    case .invalid, .malformed, .forbidden:
                        return .invalidToken
                    }
                }
            }
        }
        guard case .failed(let answer, _) = outcome else { return GatewayTurn() }
        if isPoisoned { return GatewayTurn(poisoned: 1, isOver: true) }
        output.writeBytes(answer.encoded)
        return GatewayTurn(refused: answer.status == .invalidToken ? 1 : 0, isOver: true)
    }
}
