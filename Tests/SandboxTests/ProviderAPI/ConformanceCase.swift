import HTTP2Transport
import Testing

@testable import Sandbox

/// A row of the conformance table: frames, and all that the service says to them.
///
/// Instead of a stream error that the specification wants, the service may end the connection (RFC 9113 §5.4.2); a row
/// says which of them it is.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    /// Of RFC 9113 unless another one is named.
    let section: String
    let rule: String
    /// Preface and SETTINGS of both sides stand before the frames.
    var opens = true
    var fault: Fault.Behaviour?
    /// Sent, and answered, before the frames.
    let first: [UInt8]
    let bytes: [UInt8]
    let expected: WireOutcome

    var testDescription: String { "\(section) \(rule)" }

    init(
        _ section: String,
        _ rule: String,
        opens: Bool = true,
        fault: Fault.Behaviour? = nil,
        first: [UInt8] = [],
        _ bytes: [UInt8],
        _ expected: WireOutcome
    ) {
        self.section = section
        self.rule = rule
        self.opens = opens
        self.fault = fault
        self.first = first
        self.bytes = bytes
        self.expected = expected
    }

    static let all = opening + frames + compression + states + fields + connection + windows + deviations

    /// Frames of which nghttp2 thinks otherwise than the specification: it bears what it cannot tell from a frame that
    /// was late. No request gets an answer that is not due.
    static let deviations = [
        // The specification: a connection error. Priorities were switched off, so the server does not read the frame.
        ConformanceCase("§6.3", "PRIORITY on stream 0", Wire.priority(0, on: 3), .ignored),
        // A connection error. Frames on a stream that we have reset may still come, and the stream is forgotten.
        ConformanceCase(
            "§5.1.1",
            "a smaller number than before",
            first: Wire.request(5),
            Wire.request(3),
            .answer(5, 200)
        ),
        // A connection error. The stream alone ends.
        ConformanceCase(
            "§6.9.2",
            "a window too large by SETTINGS",
            Wire.headers(1) + Wire.window(1, 0x7FFF_FFFF - 65_535) + Wire.settings((4, 65_536)),
            WireOutcome(resets: [1: .flowControlError], settingsAnswers: 1)
        ),
    ]
}

// MARK: Opening, frames, compression

extension ConformanceCase {
    private static let opening = [
        ConformanceCase("§3.4", "no preface", opens: false, Wire.settings(), WireOutcome(isOver: true)),
        ConformanceCase(
            "§3.4",
            "a preface that is cut off by another end",
            opens: false,
            Wire.preface.dropLast(4) + Array("XX\r\n".utf8),
            WireOutcome(isOver: true)
        ),
        ConformanceCase(
            "§3.4",
            "no SETTINGS behind the preface",
            opens: false,
            Wire.preface + Wire.ping(),
            .end(.protocolError)
        ),
    ]

    private static let tooLarge = [UInt8](repeating: 0, count: 16_385)

    private static let frames = [
        ConformanceCase("§4.1", "a frame of unknown type", Wire.frame(0xBE, flags: 0xFF, stream: 9, [1, 2]), .ignored),
        ConformanceCase(
            "§4.1",
            "flags without a meaning",
            Wire.ping(flags: 0xFE),
            WireOutcome(pongs: 1)
        ),
        ConformanceCase(
            "§4.1",
            "the reserved bit of a stream's number",
            Wire.headers(0x8000_0001) + Wire.data(1),
            .answer(1, 200)
        ),
        ConformanceCase(
            "§4.2",
            "the largest DATA frame",
            Wire.headers(1) + Wire.data(1, Array(tooLarge.dropLast())),
            WireOutcome(answers: [1: 413], bodyParts: [28])
        ),
        ConformanceCase("§4.2", "larger DATA", Wire.headers(1) + Wire.data(1, tooLarge), .end(.frameSizeError)),
        ConformanceCase("§4.2", "larger HEADERS", Wire.headers(1, tooLarge), .end(.frameSizeError)),
        ConformanceCase("§5.5", "unknown between HEADERS", split(Wire.frame(0xBE)), .end(.protocolError)),
        ConformanceCase("§6.1", "DATA on stream 0", Wire.data(0), .end(.protocolError)),
        ConformanceCase(
            "§6.1",
            "DATA with more padding than payload",
            Wire.headers(1) + Wire.data(1, [5, 1, 2, 3], flags: 8 | Wire.endStream),
            .end(.protocolError)
        ),
        ConformanceCase("§6.2", "HEADERS on stream 0", Wire.headers(0), .end(.protocolError)),
        ConformanceCase(
            "§6.2",
            "HEADERS with more padding than payload",
            Wire.headers(1, [5, 0x83], flags: 8 | Wire.endHeaders),
            .end(.protocolError)
        ),
        ConformanceCase("§6.3", "PRIORITY of 4 bytes", Wire.frame(2, stream: 1, [0, 0, 0, 3]), .end(.frameSizeError)),
        ConformanceCase("§6.3", "PRIORITY of an idle stream", Wire.priority(1, on: 3), .ignored),
        ConformanceCase("§6.4", "RST_STREAM on stream 0", Wire.reset(0), .end(.protocolError)),
        ConformanceCase("§6.4", "RST_STREAM of an idle stream", Wire.reset(1), .end(.protocolError)),
        ConformanceCase(
            "§6.4",
            "RST_STREAM of 3 bytes",
            Wire.headers(1) + Wire.frame(3, stream: 1, [0, 0, 8]),
            .end(.frameSizeError)
        ),
        ConformanceCase(
            "§6.6",
            "PUSH_PROMISE by a client",
            Wire.headers(1) + Wire.frame(5, flags: 4, stream: 1, Wire.big(2) + Wire.block()),
            .end(.protocolError)
        ),
        ConformanceCase("§6.10", "CONTINUATION without HEADERS", Wire.continuation(1, []), .end(.protocolError)),
        ConformanceCase(
            "§6.10",
            "CONTINUATION behind END_HEADERS",
            Wire.headers(1) + Wire.continuation(1, []),
            .end(.protocolError)
        ),
        ConformanceCase("§6.10", "CONTINUATION of another stream", split(nil, on: 3), .end(.protocolError)),
        ConformanceCase("§6.10", "CONTINUATION on stream 0", split(nil, on: 0), .end(.protocolError)),
        ConformanceCase("§6.10", "DATA between HEADERS", split(Wire.data(1)), .end(.protocolError)),
        ConformanceCase("§6.10", "PRIORITY between HEADERS", split(Wire.priority(1, on: 3)), .end(.protocolError)),
        ConformanceCase("§6.10", "HEADERS between HEADERS", split(Wire.headers(3)), .end(.protocolError)),
        ConformanceCase("§6.10", "HEADERS in two frames", split(nil) + Wire.data(1), .answer(1, 200)),
    ]

    /// The fields of a request in two frames, with another one between them.
    private static func split(_ between: [UInt8]?, on stream: UInt32 = 1) -> [UInt8] {
        let block = Wire.block()
        return Wire.headers(1, Array(block[..<20]), flags: 0) + (between ?? [])
            + Wire.continuation(stream, Array(block[20...]))
    }

    private static let compression = [
        ("§4.3", "a field that is cut off", [0x83, 0x87, 0x04, 0x7E, 0x2F]),
        ("RFC 7541 §2.3.3", "an index beyond the tables", [0xFE]),
        ("RFC 7541 §4.2", "a change of the table's size behind fields", Wire.block([0x20])),
        ("RFC 7541 §5.1", "a number without end", [UInt8](repeating: 0xFF, count: 12)),
        ("RFC 7541 §5.2", "Huffman code with a padding of zeros", Wire.block([0x00, 0x81, 0x00, 0x01, 0x61])),
        ("RFC 7541 §5.2", "Huffman code with a padding of 8 bits", Wire.block([0x00, 0x82, 0x1F, 0xFF, 0x01, 0x61])),
        ("RFC 7541 §6.1", "index 0", [0x80]),
        ("RFC 7541 §6.3", "a larger table than allowed", [0x3F, 0xE2, 0x1F] + Wire.block()),
    ].map { ConformanceCase($0.0, $0.1, Wire.headers(1, $0.2), .end(.compressionError)) }
}

// MARK: Streams

extension ConformanceCase {
    private static let held = Fault.Behaviour.answerDelay(milliseconds: 100)

    private static let states = [
        ConformanceCase("§5.1", "DATA on an idle stream", Wire.data(1), .end(.protocolError)),
        ConformanceCase("§5.1", "WINDOW_UPDATE on an idle stream", Wire.window(1, 1), .end(.protocolError)),
        ConformanceCase(
            "§5.1",
            "DATA behind END_STREAM",
            fault: held,
            Wire.request(1) + Wire.data(1),
            .end(.streamClosed)
        ),
        ConformanceCase(
            "§5.1",
            "HEADERS behind END_STREAM",
            fault: held,
            Wire.request(1) + Wire.headers(1, flags: Wire.whole),
            .end(.streamClosed)
        ),
        ConformanceCase(
            "§5.1",
            "CONTINUATION behind END_STREAM",
            fault: held,
            Wire.request(1) + Wire.continuation(1, []),
            .end(.protocolError)
        ),
        ConformanceCase(
            "§5.1",
            "WINDOW_UPDATE and PRIORITY behind END_STREAM",
            fault: held,
            Wire.request(1) + Wire.window(1, 1) + Wire.priority(1, on: 3),
            .answer(1, 200)
        ),
        ConformanceCase(
            "§5.1",
            "RST_STREAM before the answer",
            fault: held,
            Wire.request(1) + Wire.reset(1),
            .ignored
        ),
        ConformanceCase(
            "§5.1",
            "WINDOW_UPDATE, RST_STREAM and PRIORITY on a closed stream",
            first: Wire.request(1),
            Wire.window(1, 1) + Wire.reset(1) + Wire.priority(1, on: 3),
            .answer(1, 200)
        ),
        // A connection error is allowed and not demanded.
        ConformanceCase("§5.1", "DATA on a closed stream", first: Wire.request(1), Wire.data(1), .answer(1, 200)),
        ConformanceCase("§5.1", "HEADERS on a closed stream", first: Wire.request(1), Wire.request(1), .answer(1, 200)),
        ConformanceCase("§5.1.1", "an even number", Wire.request(2), .end(.protocolError)),
        ConformanceCase("§5.1.1", "numbers may be left out", Wire.request(7), .answer(7, 200)),
        ConformanceCase(
            "§5.1.2",
            "a stream too many",
            fault: .streamLimit(count: 1),
            Wire.headers(1) + Wire.headers(3),
            .end(.protocolError)
        ),
        ConformanceCase(
            "§5.1.2",
            "a stream too many before SETTINGS were answered",
            opens: false,
            fault: .streamLimit(count: 1),
            Wire.preface + Wire.settings() + Wire.headers(1) + Wire.headers(3) + Wire.data(1),
            WireOutcome(answers: [1: 200], resets: [3: .refusedStream], settingsAnswers: 1)
        ),
        ConformanceCase("§5.3.2", "PRIORITY on itself, which means nothing now", Wire.priority(1, on: 1), .ignored),
        ConformanceCase(
            "RFC 7540 §5.3.1",
            "HEADERS with a priority on itself",
            Wire.headers(1, Wire.big(1) + [15] + Wire.block(), flags: 0x20 | Wire.endHeaders),
            .end(.protocolError)
        ),
    ]
}
