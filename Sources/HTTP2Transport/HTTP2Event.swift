/// News from a server, for its client.
public enum HTTP2ClientEvent {
    /// The server has sent SETTINGS: ``HTTP2ClientSession/maxConcurrentStreams`` may have changed.
    case settings
    /// The final answer to a request is complete. `tag` is the mark given to `openStream`.
    case response(HTTP2StreamID, tag: UInt64, status: Int, HTTP2Message)
    /// A stream has ended, with or without an answer before; this comes exactly once for each stream, unless the
    /// session fails or is given up. ``HTTP2ErrorCode/refusedStream``: the server has not processed the request (also
    /// for all streams above the last of a GOAWAY).
    case closed(HTTP2StreamID, tag: UInt64, HTTP2ErrorCode)
    /// The server accepts no new streams. Streams above `last` get ``closed(_:tag:_:)`` next; the others are still
    /// answered. It may come several times, with a smaller `last`. The debug data is for people, or for programs.
    case goAway(last: HTTP2StreamID, HTTP2ErrorCode, debugData: [UInt8])
    /// The answer to a ping, with its number.
    case pong(UInt64)
    /// The session is over, see ``HTTP2ClientSession/failure``. Open streams get no event any more.
    case failed
}

/// News from a client, for its server.
public enum HTTP2ServerEvent {
    /// The client has sent SETTINGS.
    case settings
    /// A request is complete. Answer with ``HTTP2ServerSession/respond(to:status:_:body:)``, now or later.
    case request(HTTP2StreamID, HTTP2Message)
    /// The stream of a request that was handed out has ended before its answer was sent to the end.
    case closed(HTTP2StreamID, HTTP2ErrorCode)
    /// The client goes away: it opens no new streams.
    case goAway(HTTP2ErrorCode, debugData: [UInt8])
    /// The answer to a ping, with its number.
    case pong(UInt64)
    /// The session is over, see ``HTTP2ServerSession/failure``.
    case failed
}

/// An event of either side in one form, without references, so that noting it costs nothing.
enum SessionEvent {
    case settings
    case message(slot: Int32, id: Int32, tag: UInt64, status: Int32)
    case closed(id: Int32, tag: UInt64, code: UInt32)
    /// `debugData` is a position among those of the session's state.
    case goAway(last: Int32, code: UInt32, debugData: Int32)
    case pong(UInt64)
    case failed
}
