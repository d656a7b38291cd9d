import APNsProtocol
import HTTP2Transport
import NIOCore
import SeededNumbers

/// Writes the answers of one connection, into memory that is reused.
struct APIAnswers: ~Copyable {
    private static let idName: StaticString = "apns-id"

    private var success = HTTP2Fields()
    private var failure = HTTP2Fields()
    private let successID: Int
    private let failureID: Int
    /// Only in development [later].
    private let uniqueID: Int?
    /// Bodies without a time, which are the same for all.
    private var bodies: [ProviderReason: ByteBuffer] = [:]
    /// The names of the ids are in the client's table once they were sent.
    private var areNamesKnown = false
    private var random: SeededGenerator

    /// - Parameter seed: of the ids that the service makes.
    init(environment: PushEnvironment, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        successID = success.append("apns-id", "")
        uniqueID = environment == .development ? success.append("apns-unique-id", "") : nil
        failureID = failure.append("apns-id", "")
        failure.append("content-type", "application/json")
    }

    /// Answers a request as it was decided, in the turn in which it came.
    mutating func answer(_ request: APIRequest, on http: HTTP2ServerSession) {
        if let channels = request.channels { return channels.respond(request.ruling, to: request.stream, on: http) }
        switch request.ruling {
        case .accepted:
            Self.setID(of: request, in: &success, at: successID, &random)
            succeed(request.stream, on: http)
        case .refused(let refusal):
            Self.setID(of: request, in: &failure, at: failureID, &random)
            fail(request.stream, refusal, on: http)
        case .reset(let code):
            http.reset(request.stream, code)
        case .ignored, nil:
            break
        }
    }

    /// Answers a request whose answer was held back.
    mutating func answer(_ held: HeldAnswers.Item, on http: HTTP2ServerSession) {
        if let channels = held.channels { return channels.respond(held.ruling, to: held.stream, on: http) }
        switch held.ruling {
        case .accepted:
            Self.setID(held.id, in: &success, at: successID, &random)
            succeed(held.stream, on: http)
        case .refused(let refusal):
            Self.setID(held.id, in: &failure, at: failureID, &random)
            fail(held.stream, refusal, on: http)
        case .reset(let code):
            http.reset(held.stream, code)
        case .ignored:
            break
        }
    }

    /// The request's id as it came, if it is one: to be kept beyond the message.
    static func copyID(of request: APIRequest) -> [UInt8]? {
        request.message.withValue(of: idName) { NotificationID($0) == nil ? nil : [UInt8]($0) } ?? nil
    }

    private mutating func succeed(_ stream: HTTP2StreamID, on http: HTTP2ServerSession) {
        if let uniqueID { Self.setNewID(in: &success, at: uniqueID, &random) }
        http.respond(to: stream, status: 200, success)
        guard !areNamesKnown else { return }
        areNamesKnown = true
        // Their values never repeat.
        success.setIndexing(at: successID, .never)
        if let uniqueID { success.setIndexing(at: uniqueID, .never) }
        failure.setIndexing(at: failureID, .never)
    }

    private mutating func fail(_ stream: HTTP2StreamID, _ refusal: RequestRefusal, on http: HTTP2ServerSession) {
        http.respond(to: stream, status: refusal.status, failure, body: body(of: refusal))
    }

    private mutating func body(of refusal: RequestRefusal) -> ByteBuffer {
        let (reason, timestamp) = (refusal.reason, refusal.timestampMilliseconds)
        if timestamp == nil, let body = bodies[reason] { return body }
        let body = ByteBuffer(bytes: ProviderErrorBody(reason: reason, timestampMilliseconds: timestamp).json)
        if timestamp == nil { bodies[reason] = body }
        return body
    }

    /// The request's id as it came, or a new one.
    private static func setID(
        of request: APIRequest,
        in fields: inout HTTP2Fields,
        at index: Int,
        _ random: inout SeededGenerator
    ) {
        let isEchoed = request.message.withValue(of: idName) { value in
            // An invalid id is not sent back. The id of an accepted request was checked before.
            guard request.order != nil || NotificationID(value) != nil else { return false }
            fields.replaceValue(at: index, byteCount: value.count) { $0.copyMemory(from: value) }
            return true
        }
        if isEchoed != true { setNewID(in: &fields, at: index, &random) }
    }

    /// The same for an id that was kept.
    private static func setID(
        _ id: [UInt8]?,
        in fields: inout HTTP2Fields,
        at index: Int,
        _ random: inout SeededGenerator
    ) {
        guard let id else { return setNewID(in: &fields, at: index, &random) }
        fields.replaceValue(at: index, byteCount: id.count) { $0.copyBytes(from: id) }
    }

    /// A random UUID (RFC 9562 §5.4), in upper case as the service writes its own [field].
    private static func setNewID(in fields: inout HTTP2Fields, at index: Int, _ random: inout SeededGenerator) {
        let id = NotificationID(
            high: random.next() & ~0xF000 | 0x4000,
            low: random.next() & ~(0b11 << 62) | 0b10 << 62
        )
        fields.replaceValue(at: index, byteCount: NotificationID.textBytes) { id.write(into: $0, isUpperCase: true) }
    }
}
