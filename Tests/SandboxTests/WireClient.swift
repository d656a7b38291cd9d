import HTTP2Transport
import NIOCore

@testable import Sandbox

/// Frames of HTTP/2 made by hand (RFC 9113 §4.1 and §6), good ones and bad ones.
enum Wire {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    /// A whole request in one frame.
    static let whole: UInt8 = endStream | endHeaders
    static let body = Frame.payload(n: 1)

    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = [payload.count >> 16, payload.count >> 8, payload.count].map { UInt8(truncatingIfNeeded: $0) }
        return length + [type, flags] + big(stream) + payload
    }

    static func data(_ stream: UInt32, _ bytes: [UInt8] = body, flags: UInt8 = endStream) -> [UInt8] {
        frame(0, flags: flags, stream: stream, bytes)
    }

    static func headers(_ stream: UInt32, _ block: [UInt8] = block(), flags: UInt8 = endHeaders) -> [UInt8] {
        frame(1, flags: flags, stream: stream, block)
    }

    /// The stream that `stream` is to depend on.
    static func priority(_ stream: UInt32, on parent: UInt32) -> [UInt8] {
        frame(2, stream: stream, big(parent) + [15])
    }

    static func reset(_ stream: UInt32) -> [UInt8] {
        frame(3, stream: stream, big(8))
    }

    static func settings(_ entries: (id: UInt16, value: UInt32)...) -> [UInt8] {
        frame(4, entries.flatMap { [UInt8($0.id >> 8), UInt8($0.id & 0xFF)] + big($0.value) })
    }

    static func ping(flags: UInt8 = 0) -> [UInt8] {
        frame(6, flags: flags, Array("belfry!!".utf8))
    }

    static func window(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(8, stream: stream, big(increment))
    }

    static func continuation(_ stream: UInt32, _ block: [UInt8], flags: UInt8 = endHeaders) -> [UInt8] {
        frame(9, flags: flags, stream: stream, block)
    }

    /// A request in order: it is answered with 200.
    static func request(_ stream: UInt32) -> [UInt8] {
        headers(stream) + data(stream)
    }

    /// Fields of a request in order, and others behind them, see ``field(_:_:)``.
    static func block(_ others: [UInt8]...) -> [UInt8] {
        [0x83, 0x87] + field(":authority", "localhost") + field(":path", path) + others.flatMap { $0 }
    }

    /// A field that stays out of the table, without Huffman code (RFC 7541 §6.2.2); both parts under 127 bytes.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    static func big(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    /// To device 1 of the news.
    static let path: String = {
        let mint = TokenMint(key: TopicFixture.key, environment: .development, topic: APIFixture.news)
        return "/3/device/" + mint.token(of: AppInstance(device: 1)).map { hex($0) }.joined()
    }()

    private static func hex(_ byte: UInt8) -> String {
        String([byte >> 4, byte & 15].map { Character(String($0, radix: 16)) })
    }
}

/// All that a service answers to some frames.
struct WireOutcome: Equatable, Sendable {
    /// The statuses, by stream.
    var answers: [UInt32: Int] = [:]
    /// Codes of RST_STREAM, by stream.
    var resets: [UInt32: HTTP2ErrorCode] = [:]
    var goAway: HTTP2ErrorCode?
    /// The service closes the connection.
    var isOver = false
    /// Sizes of bodies' parts, of all streams, in order.
    var bodyParts: [Int] = []
    /// Answers to PING and SETTINGS.
    var pongs = 0
    var settingsAnswers = 0

    /// Nothing is said, and the connection goes on.
    static let ignored = WireOutcome()

    static func answer(_ stream: UInt32, _ status: Int) -> WireOutcome {
        WireOutcome(answers: [stream: status])
    }

    static func reset(_ stream: UInt32, _ code: HTTP2ErrorCode) -> WireOutcome {
        WireOutcome(resets: [stream: code])
    }

    /// A connection error (§5.4.1).
    static func end(_ code: HTTP2ErrorCode) -> WireOutcome {
        WireOutcome(goAway: code, isOver: true)
    }

    /// Reads the service's output: whole frames.
    init(parsing output: ByteBuffer, isOver: Bool) {
        self.isOver = isOver
        var output = output
        while let header = output.readBytes(length: 9) {
            let length = header[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = header[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let payload = output.readSlice(length: length) else { return }
            note(header[3], flags: header[4], stream, payload)
        }
    }

    init(
        answers: [UInt32: Int] = [:],
        resets: [UInt32: HTTP2ErrorCode] = [:],
        goAway: HTTP2ErrorCode? = nil,
        isOver: Bool = false,
        bodyParts: [Int] = [],
        pongs: Int = 0,
        settingsAnswers: Int = 0
    ) {
        self.answers = answers
        self.resets = resets
        self.goAway = goAway
        self.isOver = isOver
        self.bodyParts = bodyParts
        self.pongs = pongs
        self.settingsAnswers = settingsAnswers
    }

    private mutating func note(_ type: UInt8, flags: UInt8, _ stream: UInt32, _ payload: ByteBuffer) {
        let start = payload.readerIndex
        switch type {
        case 0: bodyParts.append(payload.readableBytes)
        case 1: answers[stream] = Self.status(Array(payload.readableBytesView))
        case 3: resets[stream] = payload.getInteger(at: start).map { HTTP2ErrorCode(rawValue: $0) }
        case 4 where flags & 1 == 1: settingsAnswers += 1
        case 6 where flags & 1 == 1: pongs += 1
        case 7: goAway = payload.getInteger(at: start + 4).map { HTTP2ErrorCode(rawValue: $0) }
        default: break
        }
    }

    /// The status stands first: a whole field of the static table, or three digits (RFC 7541 §6 and Appendix A).
    private static func status(_ block: [UInt8]) -> Int {
        let whole: [UInt8: Int] = [0x88: 200, 0x8C: 400, 0x8D: 404, 0x8E: 500]
        if let first = block.first, let status = whole[first] { return status }
        guard block.count >= 5, block[1] == 3 else { return -1 }
        return Int(String(decoding: block[2..<5], as: UTF8.self)) ?? -1
    }
}

/// A client that sends bytes as they are to a session in memory, and shows all that comes back.
final class WireClient {
    private let session: APISession
    private var clock = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var said = ByteBuffer()

    init(_ session: APISession) {
        self.session = session
    }

    func send(_ bytes: [UInt8], chunkBytes: Int) {
        var rest = ByteBuffer(bytes: bytes)
        while rest.readableBytes > 0, let chunk = rest.readSlice(length: min(chunkBytes, rest.readableBytes)) {
            guard session.outlook == .open else { return }
            session.receive(chunk, now: time)
            take()
        }
    }

    /// All answers that a fault holds back are given.
    func wait() {
        while session.outlook == .open, let wake = session.nextWake {
            clock = max(clock, wake)
            session.wake(now: time)
            take()
        }
    }

    /// The outcome of everything sent since the last call.
    func outcome() -> WireOutcome {
        take()
        defer { said.clear() }
        return WireOutcome(parsing: said, isOver: session.outlook != .open)
    }

    private var time: APISession.Time { APISession.Time(clock: clock, unixSeconds: APIFixture.now) }

    private func take() {
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        said.writeImmutableBuffer(output)
    }
}
