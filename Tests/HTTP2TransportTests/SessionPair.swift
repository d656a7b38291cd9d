import NIOCore

@testable import HTTP2Transport

/// An event of a client's session as a value.
enum ClientSeen: Equatable {
    case settings
    case response(tag: UInt64, status: Int, fields: [String], body: String)
    case closed(tag: UInt64, HTTP2ErrorCode)
    case goAway(last: Int32, HTTP2ErrorCode, debugData: String)
    case pong(UInt64)
    case failed(HTTP2Failure)
}

/// An event of a server's session as a value.
enum ServerSeen: Equatable {
    case settings
    case request(id: Int32, path: String, body: String)
    case closed(id: Int32, HTTP2ErrorCode)
    case goAway(HTTP2ErrorCode, debugData: String)
    case pong(UInt64)
    case failed(HTTP2Failure)
}

/// A client and a server in memory, and all that they see.
final class SessionPair {
    let client: HTTP2ClientSession
    let server: HTTP2ServerSession
    private(set) var clientSaw: [ClientSeen] = []
    private(set) var serverSaw: [ServerSeen] = []
    /// Called for each request; by default it is answered with 200 and nothing else.
    var onRequest: (HTTP2ServerSession, HTTP2StreamID, HTTP2Message) -> Void = { server, stream, _ in
        server.respond(to: stream, status: 200, HTTP2Fields())
    }
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000)

    init(
        client: HTTP2ClientSession = HTTP2ClientSession(),
        server: HTTP2ServerSession = HTTP2ServerSession()
    ) {
        self.client = client
        self.server = server
    }

    /// Both sides know each other's settings.
    static func connected(
        client: HTTP2ClientSession = HTTP2ClientSession(),
        server: HTTP2ServerSession = HTTP2ServerSession()
    ) -> SessionPair {
        let pair = SessionPair(client: client, server: server)
        pair.pump()
        pair.forget()
        return pair
    }

    /// Carries bytes both ways until both are silent, at most `chunkBytes` at once.
    func pump(chunkBytes: Int = .max) {
        while carryToServer(chunkBytes) || carryToClient(chunkBytes) {}
    }

    func carryToServer(_ chunkBytes: Int = .max) -> Bool {
        var bytes = ByteBuffer()
        client.takeOutput(into: &bytes)
        return Self.forEachChunk(of: bytes, chunkBytes) { sendToServer($0) }
    }

    func carryToClient(_ chunkBytes: Int = .max) -> Bool {
        var bytes = ByteBuffer()
        server.takeOutput(into: &bytes)
        return Self.forEachChunk(of: bytes, chunkBytes) { sendToClient($0) }
    }

    func sendToServer(_ bytes: ByteBuffer) {
        server.receive(bytes, now: now)
        while let event = server.nextEvent() { note(event) }
    }

    func sendToClient(_ bytes: ByteBuffer) {
        client.receive(bytes, now: now)
        takeClientEvents()
    }

    /// Events that a call of the client's own has caused.
    func takeClientEvents() {
        while let event = client.nextEvent() { note(event) }
    }

    func forget() {
        clientSaw = []
        serverSaw = []
    }

    /// Opens a stream; the path names the tag.
    @discardableResult
    func open(_ tag: UInt64, body: ByteBuffer = ByteBuffer(string: "{}")) throws(HTTP2OpenRefusal) -> HTTP2StreamID {
        try client.openStream(.request(path: "/\(tag)"), body: body, tag: tag)
    }

    private static func forEachChunk(of bytes: ByteBuffer, _ chunkBytes: Int, _ body: (ByteBuffer) -> Void) -> Bool {
        var bytes = bytes
        let isNothing = bytes.readableBytes == 0
        while bytes.readableBytes > 0, let chunk = bytes.readSlice(length: min(chunkBytes, bytes.readableBytes)) {
            body(chunk)
        }
        return !isNothing
    }

    private func note(_ event: HTTP2ServerEvent) {
        switch event {
        case .settings:
            serverSaw.append(.settings)
        case .request(let stream, let message):
            let path = message.value(of: ":path") ?? ""
            serverSaw.append(.request(id: stream.rawValue, path: path, body: String(buffer: message.body)))
            onRequest(server, stream, message)
        case .closed(let stream, let code):
            serverSaw.append(.closed(id: stream.rawValue, code))
        case .goAway(let code, let debugData):
            serverSaw.append(.goAway(code, debugData: String(decoding: debugData, as: UTF8.self)))
        case .pong(let number):
            serverSaw.append(.pong(number))
        case .failed:
            if let failure = server.failure { serverSaw.append(.failed(failure)) }
        }
    }

    private func note(_ event: HTTP2ClientEvent) {
        switch event {
        case .settings:
            clientSaw.append(.settings)
        case .response(_, let tag, let status, let message):
            var fields: [String] = []
            message.forEachField { name, value in
                fields.append("\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))")
            }
            let body = String(buffer: message.body)
            clientSaw.append(.response(tag: tag, status: status, fields: fields, body: body))
        case .closed(_, let tag, let code):
            clientSaw.append(.closed(tag: tag, code))
        case .goAway(let last, let code, let debugData):
            let text = String(decoding: debugData, as: UTF8.self)
            clientSaw.append(.goAway(last: last.rawValue, code, debugData: text))
        case .pong(let number):
            clientSaw.append(.pong(number))
        case .failed:
            if let failure = client.failure { clientSaw.append(.failed(failure)) }
        }
    }
}

extension HTTP2Fields {
    /// The fields of a request that differs from others in its path.
    static func request(path: String) -> HTTP2Fields {
        var fields = HTTP2Fields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "localhost")
        fields.append(":path", path, indexing: .never)
        return fields
    }
}

extension [ClientSeen] {
    /// Tags in the order of their answers, with the status.
    var answers: [UInt64: Int] {
        reduce(into: [:]) { if case .response(let tag, let status, _, _) = $1 { $0[tag] = status } }
    }

    /// Reasons for the end of each stream.
    var ends: [UInt64: HTTP2ErrorCode] {
        reduce(into: [:]) { if case .closed(let tag, let code) = $1 { $0[tag] = code } }
    }
}

extension [ServerSeen] {
    var paths: [String] {
        compactMap { if case .request(_, let path, _) = $0 { path } else { nil } }
    }
}

/// Frames made by hand (RFC 9113 §4.1).
enum Frame {
    static let preface = ByteBuffer(bytes: FrameScanner.preface)
    static let settings = Frame.make(type: 4)

    static func make(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> ByteBuffer {
        let length = UInt32(payload.count)
        var buffer = ByteBuffer()
        buffer.writeInteger(UInt8(length >> 16))
        buffer.writeInteger(UInt16(truncatingIfNeeded: length))
        buffer.writeInteger(type)
        buffer.writeInteger(flags)
        buffer.writeInteger(stream)
        buffer.writeBytes(payload)
        return buffer
    }

    /// HEADERS that need no compression: indexed names of the static table, values as they are (RFC 7541 §6).
    static func headers(stream: UInt32, flags: UInt8 = 0x5, _ extra: [UInt8] = []) -> ByteBuffer {
        // POST, https, /, and an authority without Huffman code.
        let block: [UInt8] = [0x83, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        return Self.make(type: 1, flags: flags, stream: stream, block + extra)
    }

    /// A field without indexing, its name and value as they are; both shorter than 127 bytes.
    static func literal(_ name: String, _ value: String) -> [UInt8] {
        var bytes: [UInt8] = [0x00]
        for text in [name, value] {
            bytes.append(UInt8(text.utf8.count))
            bytes += text.utf8
        }
        return bytes
    }

    static func joined(_ frames: ByteBuffer...) -> ByteBuffer {
        frames.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }

    /// Type and error code of the frames of an output; the code of RST_STREAM and GOAWAY only.
    static func parse(_ output: ByteBuffer) -> [(type: UInt8, stream: UInt32, code: UInt32?)] {
        var output = output
        var frames: [(type: UInt8, stream: UInt32, code: UInt32?)] = []
        while let header = output.readBytes(length: FrameScanner.headerBytes) {
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let stream = header[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let payload = output.readSlice(length: length) else { break }
            let code: UInt32? =
                switch header[3] {
                case 3: payload.getInteger(at: payload.readerIndex)
                case 7: payload.getInteger(at: payload.readerIndex + 4)
                default: nil
                }
            frames.append((header[3], stream, code))
        }
        return frames
    }
}
