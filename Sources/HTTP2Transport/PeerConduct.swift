import CNghttp2
import NIOCore

/// Judges what a peer sends against ``PeerLimits``, before nghttp2 sees it. Pure: time is an argument.
///
/// It looks at the headers of all frames, also of those that nghttp2 ignores without a word.
struct PeerConduct {
    /// Longest part of a wrong opening that is kept.
    private static let openingBytes = 24

    private let limits: PeerLimits
    /// The peer is a client, whose first bytes are the preface.
    private let expectsPreface: Bool

    private var scanner: FrameScanner
    /// The first bytes of the connection, until they are known to be HTTP/2; then `nil`.
    private var opening: [UInt8]? = []
    /// CONTINUATION frames since the last frame of another type.
    private var continuationsInRow = 0

    private var settings: EventRateLimit
    private var pings: EventRateLimit
    private var priorities: EventRateLimit
    private var emptyData: EventRateLimit
    private var continuations: EventRateLimit
    private var unknown: EventRateLimit
    private var resets: EventRateLimit

    init(limits: PeerLimits, expectsPreface: Bool) {
        self.limits = limits
        self.expectsPreface = expectsPreface
        scanner = FrameScanner(prefaceBytes: expectsPreface ? FrameScanner.preface.count : 0)
        settings = EventRateLimit(perSecond: limits.settingsPerSecond)
        pings = EventRateLimit(perSecond: limits.pingsPerSecond)
        priorities = EventRateLimit(perSecond: limits.prioritiesPerSecond)
        emptyData = EventRateLimit(perSecond: limits.emptyDataPerSecond)
        continuations = EventRateLimit(perSecond: limits.continuationsPerSecond)
        unknown = EventRateLimit(perSecond: limits.unknownFramesPerSecond)
        resets = EventRateLimit(perSecond: limits.resetsPerSecond)
    }

    /// The next bytes of the connection, in any chunks. Returns the reason to end it, if there is one.
    mutating func received(_ bytes: UnsafeRawBufferPointer, now: NIODeadline) -> HTTP2Failure? {
        if let failure = examineOpening(bytes) { return failure }
        let nanoseconds = Int64(clamping: now.uptimeNanoseconds)
        // A copy: the scanner would be read and changed at the same time.
        var scanner = self.scanner
        defer { self.scanner = scanner }
        return scanner.scan(bytes) { judge($0, nanoseconds) }.map(HTTP2Failure.peerLimit)
    }

    /// The peer made us reset a stream.
    mutating func provokedReset(now: NIODeadline) -> PeerExcess? {
        resets.allows(now: Int64(clamping: now.uptimeNanoseconds))
            ? nil : .resets(perSecond: resets.perSecond)
    }
}

// MARK: Opening

extension PeerConduct {
    /// A client begins with the preface, a server with a SETTINGS frame.
    private mutating func examineOpening(_ bytes: UnsafeRawBufferPointer) -> HTTP2Failure? {
        guard var opening = self.opening else { return nil }
        opening += bytes.prefix(Self.openingBytes - opening.count)
        self.opening = opening
        let isRight: Bool
        let isComplete: Bool
        if expectsPreface {
            isRight = FrameScanner.preface.starts(with: opening)
            isComplete = opening.count == FrameScanner.preface.count
        } else {
            isRight = opening.count < 4 || opening[3] == UInt8(NGHTTP2_SETTINGS.rawValue)
            isComplete = opening.count >= 4
        }
        guard isRight else { return .notHTTP2(opening: Self.text(opening)) }
        if isComplete { self.opening = nil }
        return nil
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
    }
}

// MARK: Frames

extension PeerConduct {
    @inline(__always)
    private mutating func judge(_ frame: FrameScanner.Frame, _ now: Int64) -> PeerExcess? {
        let type = UInt32(frame.type)
        if type == NGHTTP2_CONTINUATION.rawValue { return judgeContinuation(now) }
        continuationsInRow = 0
        switch type {
        case NGHTTP2_DATA.rawValue:
            let isEmpty = frame.length == 0 && frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) == 0
            return isEmpty ? Self.count(.emptyData, &emptyData, now) : nil
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_WINDOW_UPDATE.rawValue, NGHTTP2_GOAWAY.rawValue,
            NGHTTP2_PUSH_PROMISE.rawValue:
            // Open streams are bounded by our settings, and pushed ones are forbidden by them.
            return nil
        case NGHTTP2_PRIORITY.rawValue:
            return Self.count(.priority, &priorities, now)
        case NGHTTP2_RST_STREAM.rawValue:
            return resets.allows(now: now) ? nil : .resets(perSecond: resets.perSecond)
        case NGHTTP2_SETTINGS.rawValue:
            return Self.isAcknowledgement(frame) ? nil : Self.count(.settings, &settings, now)
        case NGHTTP2_PING.rawValue:
            return Self.isAcknowledgement(frame) ? nil : Self.count(.ping, &pings, now)
        default:
            return Self.count(.unknown, &unknown, now)
        }
    }

    private mutating func judgeContinuation(_ now: Int64) -> PeerExcess? {
        continuationsInRow += 1
        guard continuationsInRow <= limits.continuationsPerBlock else {
            return .continuations(perBlock: limits.continuationsPerBlock)
        }
        return Self.count(.continuation, &continuations, now)
    }

    private static func isAcknowledgement(_ frame: FrameScanner.Frame) -> Bool {
        frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    }

    private static func count(_ frame: PeerExcess.Frame, _ meter: inout EventRateLimit, _ now: Int64) -> PeerExcess? {
        meter.allows(now: now) ? nil : .frames(frame, perSecond: meter.perSecond)
    }
}
