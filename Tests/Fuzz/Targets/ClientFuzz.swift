import APNsProtocol
import HTTP2Transport
import NIOCore

/// The provider's side of HTTP/2 meets any bytes of a server, while it has requests under way.
///
/// Settings: bits 0 and 1, requests at the beginning: 1, 4, 16 or 64; 2, their bodies are larger than the windows;
/// 3, after each chunk it sends a request if it may; 4, it pings; 5, it gives its oldest request up; 6, it says goodbye
/// behind the first chunk; 7, more than one stream may be open before the server's SETTINGS.
struct ClientFuzz: ~Copyable {
    private static let answerBytes = PeerLimits.ofClient.bodyBytes

    /// A request that was sent.
    private struct Request {
        let stream: HTTP2StreamID
        var isAnswered = false
        var isClosed = false
    }

    private let input: FuzzInput
    private let fields: HTTP2Fields

    init(_ input: FuzzInput) {
        self.input = input
        var fields = HTTP2Fields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "localhost")
        fields.append(":path", "/3/device/00", indexing: .never)
        fields.append("authorization", "bearer a.b.c")
        self.fields = fields
    }

    func run() throws(BrokenInvariant) {
        let said = try talk()
        try expect(try talk() == said, "the same bytes lead to other output the second time")
    }

    /// - Returns: all that the client says.
    private func talk() throws(BrokenInvariant) -> [UInt8] {
        let session = HTTP2ClientSession(streamsBeforeSettings: input.isSet(7) ? 100 : 1)
        var requests: [Request] = []
        var said = ByteBuffer()
        for _ in 0..<1 << (2 * Int(input.settings & 3)) { try request(session, &requests) }
        session.takeOutput(into: &said)
        for (number, chunk) in Chunking.asGiven.cut(input.stream, sizes: input.chunkSizes).enumerated() {
            guard !session.isFinished else { break }
            session.receive(ByteBuffer(bytes: chunk), now: .uptimeNanoseconds(1_000_000_000))
            try takeEvents(session, &requests)
            if input.isSet(3) { try request(session, &requests) }
            if input.isSet(4) { session.ping(UInt64(number)) }
            if input.isSet(5), let oldest = requests.first(where: { !$0.isClosed }) {
                session.reset(oldest.stream, .cancel)
                try takeEvents(session, &requests)
            }
            if input.isSet(6), number == 0 { session.goAway() }
            session.takeOutput(into: &said)
            try check(session, requests)
        }
        let bytes = Array(said.readableBytesView)
        try expect(bytes.starts(with: HTTP2Frames.preface), "the client does not begin with the preface")
        try HTTP2Frames.check(bytes.dropFirst(HTTP2Frames.preface.count))
        return bytes
    }

    /// Sends a request, if a stream can be opened.
    private func request(_ session: HTTP2ClientSession, _ requests: inout [Request]) throws(BrokenInvariant) {
        let mayOpen = session.acceptsStreams && session.openStreams < session.maxConcurrentStreams
        let body = ByteBuffer(repeating: 0x20, count: input.isSet(2) ? 70_000 : 110)
        do throws(HTTP2OpenRefusal) {
            let stream = try session.openStream(fields, body: body, tag: UInt64(requests.count))
            requests.append(Request(stream: stream))
        } catch {
            try expect(!mayOpen, "a stream that is available cannot be opened: \(error)")
            return
        }
        try expect(mayOpen, "a stream was opened that was not available")
        try takeEvents(session, &requests)
    }

    private func takeEvents(_ session: HTTP2ClientSession, _ requests: inout [Request]) throws(BrokenInvariant) {
        while let event = session.nextEvent() {
            switch event {
            case .response(let stream, let tag, let status, let message):
                let index = try Self.index(tag, stream, requests)
                try expect(!requests[index].isAnswered && !requests[index].isClosed, "a second answer")
                requests[index].isAnswered = true
                try Self.read(message, status)
            case .closed(let stream, let tag, _):
                let index = try Self.index(tag, stream, requests)
                try expect(!requests[index].isClosed, "a stream that ends twice")
                requests[index].isClosed = true
            case .goAway(let last, _, let debugData):
                try expect(last.rawValue >= 0, "a last stream below zero")
                if let body = try? ProviderErrorBody(parsing: debugData) { try Self.check(body.reason) }
            case .failed:
                try expect(session.failure != nil, "failed without a reason")
            case .settings, .pong:
                break
            }
        }
    }

    private static func index(
        _ tag: UInt64,
        _ stream: HTTP2StreamID,
        _ requests: [Request]
    ) throws(BrokenInvariant) -> Int {
        let index = Int(clamping: tag)
        try expect(requests.indices.contains(index), "an event of request \(tag), which was never sent")
        try expect(requests[index].stream.rawValue == stream.rawValue, "an event of another stream")
        return index
    }

    /// Reads an answer as the worker does.
    private static func read(_ message: HTTP2Message, _ status: Int) throws(BrokenInvariant) {
        try expect((0...999).contains(status), "status \(status)")
        var bytes = 0
        message.forEachField { bytes += $0.count + $1.count }
        try expect(bytes <= PeerLimits.ofClient.headerListBytes, "\(bytes) bytes of fields")
        let (kept, answer) = message.withBody { ($0.count, ProviderAnswer(status: status, id: nil, body: $0)) }
        try expect(kept <= answerBytes && kept <= message.bodyBytes, "\(kept) bytes of a body are kept")
        try expect(answer.verdict != .tokenDead || answer.deadSinceSeconds != nil, "a death without its time")
        let isError = status != 200
        try expect((answer.reason != nil || answer.bodyFault != nil) == isError, "neither a reason nor a fault")
        if let reason = answer.reason { try Self.check(reason) }
    }

    /// Reasons become log lines and outcomes.
    private static func check(_ reason: ProviderReason) throws(BrokenInvariant) {
        let text = reason.rawValue.utf8
        try expect(text.allSatisfy { (0x20...0x7E).contains($0) }, "a reason that is no printable ASCII")
        try expect((1...ProviderErrorBody.reasonLimitBytes).contains(text.count), "a reason of \(text.count) bytes")
    }

    private func check(_ session: HTTP2ClientSession, _ requests: [Request]) throws(BrokenInvariant) {
        let open = requests.count { !$0.isClosed }
        if session.failure == nil {
            try expect(session.openStreams == open, "\(session.openStreams) streams are open, not \(open)")
        } else {
            try expect(session.isFinished && !session.acceptsStreams, "it goes on behind a failure")
        }
        try expect(session.stalledBodyBytes >= 0 && session.maxConcurrentStreams >= 0, "a count below zero")
    }
}
