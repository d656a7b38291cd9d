public import NIOCore

/// A client's side of an HTTP/2 connection, without sockets: bytes in, events and bytes out.
///
/// ```
/// connection ──▶ receive(_:now:) ──▶ nextEvent() until nil
/// openStream(…), ping(_:) … ──▶ takeOutput(into:) ──▶ connection
/// ```
///
/// Each call encodes its frames at once; take the output when the connection can be written, also after `receive`,
/// which may have to acknowledge something. The first output is there from the beginning. Nothing calls back.
///
/// Belongs to one thread at a time, as a rule the connection's event loop.
public final class HTTP2ClientSession {
    private let engine: SessionEngine

    /// - Parameters:
    ///   - settings: announced at once. A client has no use for `maxConcurrentStreams`.
    ///   - connectionWindowBytes: bytes of answers' bodies that the server may send before it gets more window.
    ///   - limits: bounds on the server's conduct.
    ///   - streamsBeforeSettings: streams that may be open before the server's SETTINGS arrive, 1 or more.
    public init(
        settings: HTTP2Settings = HTTP2Settings(),
        connectionWindowBytes: Int = 1 << 20,
        limits: PeerLimits = .ofClient,
        streamsBeforeSettings: Int = 1
    ) {
        engine = SessionEngine(
            isServer: false,
            settings: settings,
            connectionWindowBytes: connectionWindowBytes,
            limits: limits,
            streamsBeforeSettings: streamsBeforeSettings
        )
    }

    // MARK: Bytes and events

    /// Takes the next bytes from the connection, in any chunks. Messages of earlier events become invalid, unless there
    /// are events that were not taken yet.
    ///
    /// - Parameter now: the time, for the limits per second.
    public func receive(_ bytes: ByteBuffer, now: NIODeadline) {
        bytes.withUnsafeReadableBytes { engine.receive($0, now: now) }
    }

    /// The next event, in the order in which they happened; `nil` if there is none. The session may be used freely
    /// between two events.
    public func nextEvent() -> HTTP2ClientEvent? {
        guard let event = engine.state.pointee.nextEvent() else { return nil }
        switch event {
        case .settings:
            return .settings
        case .message(let slot, let id, let tag, let status):
            let message = HTTP2Message(state: engine.state, slot: slot)
            return .response(HTTP2StreamID(rawValue: id), tag: tag, status: Int(status), message)
        case .closed(let id, let tag, let code):
            return .closed(HTTP2StreamID(rawValue: id), tag: tag, HTTP2ErrorCode(rawValue: code))
        case .goAway(let last, let code, let debugData):
            return .goAway(
                last: HTTP2StreamID(rawValue: last),
                HTTP2ErrorCode(rawValue: code),
                debugData: engine.state.pointee.goAwayDebugData[Int(debugData)]
            )
        case .pong(let number):
            return .pong(number)
        case .failed:
            return .failed
        }
    }

    /// Moves all output behind the readable bytes of `buffer`. Pass the same buffer again once it is written and empty:
    /// then its memory is used again.
    public func takeOutput(into buffer: inout ByteBuffer) {
        engine.takeOutput(into: &buffer)
    }

    /// Bytes that ``takeOutput(into:)`` would move.
    public var outputBytes: Int { engine.state.pointee.output.readableBytes }

    // MARK: Requests

    /// Sends a request. It is in the output when the call returns, its body as far as the server's windows allow.
    ///
    /// - Parameters:
    ///   - fields: `:method`, `:scheme`, `:authority`, `:path`, then the others. Not needed any more after the call.
    ///   - body: is kept until it is sent, not copied: many streams may share one. Empty: the request has none.
    ///   - tag: any number of the caller's; it comes back with the stream's events.
    /// - Throws: ``HTTP2OpenRefusal`` when no stream can be opened now; nothing has happened then.
    @discardableResult
    public func openStream(
        _ fields: borrowing HTTP2Fields,
        body: ByteBuffer,
        tag: UInt64
    ) throws(HTTP2OpenRefusal) -> HTTP2StreamID {
        let id = try engine.open(fields, body: body, tag: tag)
        return HTTP2StreamID(rawValue: id)
    }

    /// Gives a stream up. Its ``HTTP2ClientEvent/closed(_:tag:_:)`` comes with the same code. Does nothing if the
    /// stream has ended.
    public func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        engine.reset(stream.rawValue, code)
    }

    /// Streams that are open.
    public var openStreams: Int { engine.state.pointee.streams.count }

    /// The number of streams that the server allows to be open at present.
    public var maxConcurrentStreams: Int { engine.peerMaxConcurrentStreams }

    /// False: no stream will be opened on this session any more; see ``HTTP2OpenRefusal/sessionIsEnding``.
    public var acceptsStreams: Bool { engine.acceptsStreams }

    /// Bytes of bodies that the server accepts on all streams together; bodies beyond it wait. May be negative.
    public var remoteWindowBytes: Int { engine.remoteWindowBytes }

    /// Bytes of bodies that wait for the server's windows.
    public var stalledBodyBytes: Int { engine.state.pointee.stalledBytes }

    /// The part of a stream's body that waits for the server's windows; nil: the stream has ended.
    func stalledBody(of stream: HTTP2StreamID) -> ByteBuffer? { engine.stalledBody(of: stream.rawValue) }

    // MARK: The connection

    /// Asks for a sign of life: ``HTTP2ClientEvent/pong(_:)`` with the same number.
    public func ping(_ number: UInt64) {
        engine.ping(number)
    }

    /// Says goodbye: no stream can be opened any more. Those that are open go on.
    public func goAway(_ code: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        engine.goAway(code, debugData, last: nil)
    }

    /// Present size of the table that compresses the fields of requests.
    var encoderTableBytes: Int { engine.encoderTableBytes }

    /// True: nothing will be read or written any more. Close the connection after the last output.
    public var isFinished: Bool { engine.isFinished }

    /// The reason why the session is over, after ``HTTP2ClientEvent/failed``.
    public var failure: HTTP2Failure? { engine.state.pointee.failure }
}

@available(*, unavailable)
extension HTTP2ClientSession: Sendable {}
