import APNsProtocol
import TestSupport
import Testing

@testable import Sandbox

/// Facts that the service and the device read in a payload.
struct PayloadReadingTests {
    private func read(_ payload: [UInt8]) -> PayloadReading {
        payload.withUnsafeBytes(PayloadReading.read)
    }

    /// The pipeline's rules accept an object's grammar, whatever they say of its `aps`.
    private func isValidObject(_ payload: [UInt8]) -> Bool {
        do {
            _ = try PayloadScanner.stripped(payload, limitBytes: .max)
            return true
        } catch {
            return error.rule == .apsMissing
        }
    }

    @Test(
        "One JSON value of any kind is valid",
        arguments: [
            "{}", "[]", " 1 ", "-0.5e+3", "0", "true", "false", "null", #""a""#, #""\u00e4\ud83d\ude00\n""#,
            "[1,[2,{}]]",
            "\t{\r\n \"a\" : [ ] }\n", #"{"a":"ä€😀"}"#,
        ]
    )
    func valid(payload: String) {
        #expect(read(Array(payload.utf8)).isValid)
    }

    @Test(
        "Anything else is not",
        arguments: [
            "", " ", "{", "}", "[", "{]", "[}", "[1,]", #"{"a":1,}"#, #"{"a"}"#, #"{"a":}"#, "{1:2}", "01", "-", "1.",
            "1e", ".5", "+1", "tru", "nul", "True", #"""#, #""\x""#, #""\u12""#, #""\ud800""#, #""\udc00""#,
            "\"\u{1}\"", "1 2",
            "{} {}", "\u{FEFF}{}", "{'a':1}", "[1 2]", "NaN",
        ]
    )
    func invalid(payload: String) {
        #expect(!read(Array(payload.utf8)).isValid)
    }

    @Test("Nesting has a limit, the one of the pipeline's rules")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }
        #expect(read(nested(PayloadScanner.depthLimit)).isValid)
        #expect(!read(nested(PayloadScanner.depthLimit + 1)).isValid)
        #expect(!read([UInt8](repeating: UInt8(ascii: "["), count: 60_000)).isValid)
    }

    @Test("Damaged and random objects are judged as the pipeline's rules judge them, and never read past their end")
    func likeTheScanner() {
        var random = SeededGenerator(seed: 3)
        let samples = [
            #"{"a":{"alert":"h\u00e4llo \"w\" \\"},"n":-1.5e3,"x":[true,false,null,{"y":[]}]}"#,
            #"{"ab":"äöü😀€","n":12345,"content-available":"\ud83d\ude00"}"#, #" { "n" : 7 , "b" : [ 1 , 2 ] } "#,
        ].map { Array($0.utf8) }
        let alphabet = Array(#"{}[]",:\u0123den.-+ t"#.utf8) + [0x80, 0xC3, 0xA4, 0xED, 0xF0, 0x01]
        for step in 0..<60_000 {
            var payload = samples[step % samples.count]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let offset = Int.random(in: 0..<payload.count, using: &random)
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                switch Int.random(in: 0..<3, using: &random) {
                case 0: payload[offset] = byte
                case 1: payload.insert(byte, at: offset)
                default: payload.remove(at: offset)
                }
            }
            guard payload.first(where: { $0 != 0x20 }) == UInt8(ascii: "{") else { continue }
            let expected = isValidObject(payload)
            for behind in [#"}]}"n":1,"#, #"\\"]]"#] {
                let reading = (payload + Array(behind.utf8)).withUnsafeBytes { bytes in
                    PayloadReading.read(UnsafeRawBufferPointer(rebasing: bytes[..<payload.count]))
                }
                #expect(reading.isValid == expected, "\(String(decoding: payload, as: UTF8.self))")
                #expect(reading.mark == payload.withUnsafeBytes(PayloadMark.read))
            }
        }
    }

    @Test(
        "The mark is the one of `PayloadMark`",
        arguments: [
            #"{"aps":{},"n":5}"#, #"{"n":1,"n":2}"#, #"{"n":"x"}"#, #"{"aps":{"n":1}}"#, #"["n",1]"#, #"{"n":[1,2]}"#,
            #"{"\u006e":1}"#, #"{"n":{"a":1}}"#, #"{"aps":{},"n":5"#, "", "x", #"{"n":"#,
        ]
    )
    func marks(payload: String) {
        let bytes = Array(payload.utf8)
        #expect(read(bytes).mark == bytes.withUnsafeBytes(PayloadMark.read))
    }
}
