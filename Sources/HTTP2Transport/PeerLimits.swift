/// Bounds on the memory and work that a peer may cause in one session. A peer beyond one of them is sent away with a
/// GOAWAY (ENHANCE_YOUR_CALM), but where a bound says otherwise.
///
/// Frames per second: so many may come at once, and then that many a second. WINDOW_UPDATE has no limit: it costs no
/// more than any other bytes, and honest peers send many.
public struct PeerLimits: Sendable, Equatable {
    /// Size of the fields of one request or answer as RFC 9113 §6.5.2 counts: 32 bytes each besides name and value. It
    /// is announced as SETTINGS_MAX_HEADER_LIST_SIZE.
    public var headerListBytes: Int
    /// CONTINUATION frames behind one HEADERS frame.
    public var continuationsPerBlock: Int
    /// CONTINUATION frames a second.
    public var continuationsPerSecond: Int
    /// SETTINGS frames a second, acknowledgements not counted.
    public var settingsPerSecond: Int
    /// PING frames a second, acknowledgements not counted.
    public var pingsPerSecond: Int
    /// PRIORITY frames a second.
    public var prioritiesPerSecond: Int
    /// DATA frames a second that carry nothing and do not end their stream.
    public var emptyDataPerSecond: Int
    /// Frames a second of types that this side does not know.
    public var unknownFramesPerSecond: Int
    /// Streams a second that the peer opens and resets (CVE-2023-44487), or makes us reset (CVE-2025-8671).
    public var resetsPerSecond: Int
    /// Output that waits for the peer: bytes that were not taken, and bodies that its windows hold up.
    public var unreadBytes: Int
    /// The body of one request or answer that is kept. The rest of a larger one is dropped, see
    /// ``HTTP2Message/isBodyWhole``; that alone ends nothing. A connection holds one such body per open stream at most.
    public var bodyBytes: Int
    /// The table of the peer's compression of fields; announced as SETTINGS_HEADER_TABLE_SIZE.
    public var decoderTableBytes: Int
    /// The table of our compression of fields; the peer may ask for a smaller one, but gets no larger one.
    public var encoderTableBytes: Int

    /// For a server whose clients may be hostile.
    public static let ofServer = PeerLimits(
        headerListBytes: 8_000,
        continuationsPerBlock: 8,
        continuationsPerSecond: 200,
        settingsPerSecond: 50,
        pingsPerSecond: 50,
        prioritiesPerSecond: 2_000,
        emptyDataPerSecond: 50,
        unknownFramesPerSecond: 200,
        resetsPerSecond: 200,
        unreadBytes: 4 << 20,
        bodyBytes: 16 << 10,
        decoderTableBytes: 4_096,
        encoderTableBytes: 4_096
    )

    /// For a client of a service that it trusts to answer, and that may change its settings with every answer.
    public static let ofClient = PeerLimits(
        headerListBytes: 16_384,
        continuationsPerBlock: 8,
        continuationsPerSecond: 200,
        settingsPerSecond: 2_000,
        pingsPerSecond: 100,
        prioritiesPerSecond: 200,
        emptyDataPerSecond: 200,
        unknownFramesPerSecond: 200,
        resetsPerSecond: 10_000,
        unreadBytes: 64 << 20,
        bodyBytes: 16 << 10,
        decoderTableBytes: 4_096,
        encoderTableBytes: 4_096
    )
}

/// The limit that a peer exceeded.
public enum PeerExcess: Equatable, Sendable {
    /// A kind of frame that is counted.
    public enum Frame: String, Equatable, Sendable, CaseIterable {
        case settings = "SETTINGS"
        case ping = "PING"
        case priority = "PRIORITY"
        case emptyData = "empty DATA"
        case continuation = "CONTINUATION"
        case unknown = "unknown"
    }

    case headerList(limitBytes: Int)
    case continuations(perBlock: Int)
    case frames(Frame, perSecond: Int)
    case resets(perSecond: Int)
    case unread(limitBytes: Int)
}

extension PeerExcess: CustomStringConvertible {
    /// A phrase for people, also sent to the peer in the GOAWAY frame.
    public var description: String {
        switch self {
        case .headerList(let limitBytes): "header fields of more than \(limitBytes) bytes"
        case .continuations(let limit): "more than \(limit) CONTINUATION frames in a row"
        case .frames(let frame, let limit): "more than \(limit) \(frame.rawValue) frames a second"
        case .resets(let limit): "more than \(limit) reset streams a second"
        case .unread(let limitBytes): "more than \(limitBytes) bytes of output that are not read"
        }
    }
}
