public import NIOCore

/// A server's side of an HTTP/2 connection, without sockets: bytes in, events and bytes out.
///
/// ```
/// connection ──▶ receive(_:now:) ──▶ nextEvent() until nil
/// respond(to:status:_:body:), goAway(…) … ──▶ takeOutput(into:) ──▶ connection
/// ```
///
/// Each call encodes its frames at once; take the output when the connection can be written, also after `receive`.
/// Output that is not taken counts as unread by the client (``PeerLimits/unreadBytes``). The first output is there from
/// the beginning. Nothing calls back.
///
/// Belongs to one thread at a time, as a rule the connection's event loop.
public final class HTTP2ServerSession {
    private let engine: SessionEngine

    /// - Parameters:
    ///   - settings: announced at once.
    ///   - connectionWindowBytes: bytes of requests' bodies that the client may send before it gets more window.
    ///   - limits: bounds on the client's conduct.
    public init(
        settings: HTTP2Settings = HTTP2Settings(maxConcurrentStreams: 1_000),
        connectionWindowBytes: Int = 65_535,
        limits: PeerLimits = .ofServer
    ) {
        engine = SessionEngine(
            isServer: true,
            settings: settings,
            connectionWindowBytes: connectionWindowBytes,
            limits: limits,
            streamsBeforeSettings: 0
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
    public func nextEvent() -> HTTP2ServerEvent? {
        guard let event = engine.state.pointee.nextEvent() else { return nil }
        switch event {
        case .settings:
            return .settings
        case .message(let slot, let id, _, _):
            return .request(HTTP2StreamID(rawValue: id), HTTP2Message(state: engine.state, slot: slot))
        case .closed(let id, _, let code):
            return .closed(HTTP2StreamID(rawValue: id), HTTP2ErrorCode(rawValue: code))
        case .goAway(_, let code, let debugData):
            return .goAway(
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

    /// Answers a request, once.
    ///
    /// - Parameters:
    ///   - status: 200…599.
    ///   - fields: the fields behind `:status`. Not needed any more after the call.
    ///   - body: is kept until it is sent, not copied. Empty: the answer has none.
    /// - Returns: false if the stream has ended meanwhile, or the session: nothing is sent then.
    @discardableResult
    public func respond(
        to stream: HTTP2StreamID,
        status: Int,
        _ fields: borrowing HTTP2Fields,
        body: ByteBuffer = ByteBuffer()
    ) -> Bool {
        engine.respond(stream.rawValue, status: status, fields: fields, body: body)
    }

    /// Ends a stream without an answer, or in its midst. With ``HTTP2ErrorCode/refusedStream`` the client learns that
    /// the request was not processed. Does nothing if the stream has ended.
    public func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        engine.reset(stream.rawValue, code)
    }

    /// Streams that are open, those included whose request is not complete yet.
    public var openStreams: Int { engine.state.pointee.streams.count }

    /// Bytes of answers' bodies that wait for the client's windows.
    public var stalledBodyBytes: Int { engine.state.pointee.stalledBytes }

    // MARK: The connection

    /// Changes settings. The client obeys them when it has received them; streams above a new limit that are on their
    /// way meanwhile are refused (REFUSED_STREAM) by nghttp2.
    public func send(_ settings: HTTP2Settings) {
        engine.send(settings)
    }

    /// Changes the window for bodies of all streams together. A smaller one takes effect as the present one is used up.
    public func setConnectionWindow(bytes: Int) {
        engine.setConnectionWindow(bytes: bytes)
    }

    /// The window of received bodies goes back to the client at once (true, the default), or is kept back until this
    /// is true again: the client's bodies stall then.
    public var returnsWindow: Bool {
        get { engine.returnsWindow }
        set { engine.returnsWindow = newValue }
    }

    /// Asks for a sign of life: ``HTTP2ServerEvent/pong(_:)`` with the same number.
    public func ping(_ number: UInt64) {
        engine.ping(number)
    }

    /// Tells the client to open no more streams, and which ones are processed. Streams that it opens all the same get
    /// no event.
    ///
    /// - Parameters:
    ///   - last: the last stream that is answered; later ones end at once. `nil`: the last one that came. Never larger
    ///     than in an earlier call.
    ///   - debugData: sent along, for people or programs.
    public func goAway(_ code: HTTP2ErrorCode = .noError, debugData: [UInt8] = [], last: HTTP2StreamID? = nil) {
        engine.goAway(code, debugData, last: last)
    }

    /// GOAWAYs and resets that this side has sent since the last call. It need not be called: little gathers.
    public func takeDismissals() -> HTTP2Dismissals {
        guard !engine.state.pointee.dismissals.isEmpty else { return HTTP2Dismissals() }
        defer { engine.state.pointee.dismissals = HTTP2Dismissals() }
        return engine.state.pointee.dismissals
    }

    /// True: nothing will be read or written any more. Close the connection after the last output.
    public var isFinished: Bool { engine.isFinished }

    /// The reason why the session is over, after ``HTTP2ServerEvent/failed``.
    public var failure: HTTP2Failure? { engine.state.pointee.failure }
}

@available(*, unavailable)
extension HTTP2ServerSession: Sendable {}
