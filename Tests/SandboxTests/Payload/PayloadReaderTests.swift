import TestSupport
import Testing

@testable import Sandbox

/// Payloads that follow each other.
struct PayloadReaderTests {
    /// Reads them one after the other, and compares each reading with that of the payload alone.
    private func check(_ payloads: [[UInt8]]) {
        var reader = PayloadReader()
        for payload in payloads {
            let (reading, alone) = payload.withUnsafeBytes { (reader.read($0), PayloadReading.read($0)) }
            #expect(reading == alone, "\(String(decoding: payload, as: UTF8.self))")
        }
    }

    private func check(texts: [String]) {
        check(texts.map { Array($0.utf8) })
    }

    @Test("A payload that repeats the last one with another number has its own mark")
    func repetition() {
        let payloads = (1_000_000..<1_000_100).map { #"{"aps":{"alert":"a"},"n":\#($0)}"# }
        check(texts: payloads)
        var reader = PayloadReader()
        let marks = payloads.map { payload in Array(payload.utf8).withUnsafeBytes { reader.read($0).mark } }
        #expect(marks == Array(1_000_000..<1_000_100))
    }

    @Test("The place of the number holds whatever a payload may have there, and is read as in a payload alone")
    func numbers() {
        let values = [
            "10", "01", "-1", "1.", "1e", ".5", "99", "e5", "12", " 1", "1 ", "a1", "\"\"", "[]", "{}", "1}", "00",
            "-0",
            "4294967295", "2147483648", "2147483647", "0000000001", "1.00000001", "1e00000001", "-000000001",
            "9999999999", "123456789 ", "true", "null", "1234", "1.25", "1e10", "-1e2", "1.5e", "0.5e+31", "10000000",
        ]
        for first in values {
            for second in values {
                check(texts: [#"{"n":\#(first),"n":7}"#, #"{"n":\#(second),"n":7}"#, #"{"n":\#(first),"n":7}"#])
            }
        }
    }

    @Test("A payload of the same length that differs elsewhere is read anew")
    func differences() {
        check(texts: [
            #"{"aps":{"badge":1},"n":12}"#, #"{"aps":{"badgx":1},"n":12}"#, #"{"aps":{"badge":1},"m":12}"#,
            #"{"aps":{"badge":1},"n":12]"#, #"{"aps":{"badge":x},"n":12}"#, #"{"aps":{"badge":1},"n":34}"#,
            #"{"aps":{"content-available":1},"n":12}"#, #"{"apt":{"content-available":1},"n":13}"#,
        ])
    }

    @Test("Damaged payloads in any order are read as each of them alone")
    func damages() {
        var random = SeededGenerator(seed: 5)
        let samples = [#"{"aps":{"alert":"h \\" ä"},"n":123456}"#, #"{"aps":{},"n":7,"x":"n"}"#, "", "x"]
        let alphabet = Array(#"0123456789n"{}:,.-e"#.utf8)
        var payload: [UInt8] = []
        var payloads: [[UInt8]] = []
        for _ in 0..<20_000 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                payload = Array(samples[Int.random(in: 0..<samples.count, using: &random)].utf8)
            }
            if !payload.isEmpty {
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                payload[Int.random(in: 0..<payload.count, using: &random)] = byte
            }
            payloads.append(payload)
        }
        check(payloads)
    }
}
