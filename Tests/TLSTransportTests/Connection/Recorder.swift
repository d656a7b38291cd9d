import NIOCore

@testable import TLSTransport

/// An event that handlers behind a ``TLSHandler`` saw. Events are in order; neighbouring pieces of plaintext are one
/// entry.
enum Seen: Equatable, Sendable {
    case handshake(TLSHandshakeCompleted)
    case bytes([UInt8])
    case inputClosed
    case error(TLSError)
    case otherError(String)
    case inactive
}

extension [Seen] {
    var handshake: TLSHandshakeCompleted? {
        for case .handshake(let handshake) in self { return handshake }
        return nil
    }

    var bytes: [UInt8] {
        flatMap { if case .bytes(let bytes) = $0 { bytes } else { [UInt8]() } }
    }

    /// The errors, the socket's own as `nil`.
    var errors: [TLSError?] {
        compactMap {
            switch $0 {
            case .error(let error): .some(error)
            case .otherError: .some(nil)
            default: nil
            }
        }
    }
}

/// The last handler of a test's pipeline: records, and acts at the moments a test cares about.
final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Script: Sendable {
        var onHandshake: @Sendable (ChannelHandlerContext, Recorder) -> Void = { _, _ in }
        var onBytes: @Sendable (ChannelHandlerContext, Recorder) -> Void = { _, _ in }
        var onInputClosed: @Sendable (ChannelHandlerContext, Recorder) -> Void = { _, _ in }
    }

    /// All but the plaintext since the last other event, which grows in place.
    private var past: [Seen] = []
    private var bytes: [UInt8] = []
    private(set) var receivedBytes = 0
    private let script: Script
    private let ended: EventLoopPromise<[Seen]>?

    init(_ script: Script = Script(), ended: EventLoopPromise<[Seen]>? = nil) {
        self.script = script
        self.ended = ended
    }

    var seen: [Seen] {
        bytes.isEmpty ? past : past + [.bytes(bytes)]
    }

    private func note(_ event: Seen) {
        past = seen
        bytes = []
        past.append(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        receivedBytes += buffer.readableBytes
        bytes.append(contentsOf: buffer.readableBytesView)
        script.onBytes(context, self)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let handshake = event as? TLSHandshakeCompleted {
            note(.handshake(handshake))
            script.onHandshake(context, self)
        } else if case .some(.inputClosed) = event as? ChannelEvent {
            note(.inputClosed)
            script.onInputClosed(context, self)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? TLSError {
            note(.error(error))
        } else {
            note(.otherError("\(error)"))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        note(.inactive)
        ended?.succeed(seen)
    }

    func send(_ bytes: [UInt8], _ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: promise)
    }
}
