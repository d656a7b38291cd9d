import APNsProtocol
import Testing

@Suite struct PayloadAcceptTests {
    /// Strips a payload; returns the result, or the error.
    static func scan(_ payload: [UInt8], limitBytes: Int = 5120) -> Result<[UInt8], PayloadError> {
        Result { () throws(PayloadError) in try PayloadScanner.stripped(payload, limitBytes: limitBytes) }
    }

    /// Values that RFC 8259 allows.
    static let values = [
        #""""#, #""plain text""#, #""\"\\\/\b\f\n\r\t""#, #""\u0000\u001F\u00e9\uABCD\uabcd""#, #""\uD834\uDD1E""#,
        #""\uDBFF\uDFFF""#, "\"\u{7F}\"", "\"\u{E9}\u{20AC}\u{1F514}\"", "\"\u{FFFF}\u{10FFFF}\u{2028}\u{2029}\"",
        "\"\u{D7FF}\u{E000}\u{800}\u{7FF}\u{80}\"", "0", "-0", "1", "-1", "12345678901234567890123456789", "0.0",
        "-0.0", "1.25", "0e0", "0E+0", "1e10", "1E10", "1e+10", "1e-10", "1.5e300", "1e999", "-12.34E-56", "true",
        "false", "null", "{}", "[]", "[[]]", "[{}]", #"{"":""}"#, #"{"a":1,"a":2}"#, #"[1,"a",null,true,{},[]]"#,
        #"{"aps":1,"aps":2}"#, #"[{"aps":[]}]"#, #"" ,:{}[] ""#, #""\\""#, #""\\\"""#, #""//""#,
    ]

    @Test("Every JSON value may stand beside aps and inside it", arguments: values)
    func everyValue(value: String) {
        for payload in [#"{"aps":{},"custom":\#(value)}"#, #"{"custom":\#(value),"aps":{"x":\#(value)}}"#] {
            #expect(Self.scan([UInt8](payload.utf8)) == .success([UInt8](payload.utf8)))
        }
    }

    @Test("An empty aps is valid, also when its key is written with escapes")
    func emptyAps() {
        for key in ["aps", #"\u0061ps"#, #"a\u0070s"#, #"\u0061\u0070\u0073"#] {
            let payload = [UInt8](#"{"\#(key)":{}}"#.utf8)
            #expect(Self.scan(payload) == .success(payload))
        }
    }

    @Test("A key that only resembles aps is another key")
    func resemblingKeys() {
        let plain = ["", "a", "ap", "apsx", "xaps", "APS"]
        let escaped = [#"\u0041ps"#, #"aps\u0000"#, #"ap\u0073s"#, #"ap\n"#, #"\/aps"#, #"ap\""#]
        for key in plain + escaped {
            let payload = [UInt8](#"{"\#(key)":1,"aps":{}}"#.utf8)
            #expect(Self.scan(payload) == .success(payload))
        }
    }

    @Test("Nesting down to the limit is accepted")
    func depth() {
        let arrays = PayloadScanner.depthLimit - 1
        let nested = String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays)
        let payload = [UInt8](#"{"aps":{},"x":\#(nested)}"#.utf8)
        #expect(Self.scan(payload) == .success(payload))
    }

    @Test("The examples of Apple's guide are valid")
    func examples() {
        let examples = [
            #"{"aps":{"alert":"Message received from Bob"},"acme2":["bang","whiz"]}"#,
            #"{"aps":{"alert":{"body":"Bob wants to play poker","action-loc-key":"PLAY"},"badge":5},"acme1":"bar"}"#,
            #"{"aps":{"alert":"You got your emails.","badge":9,"sound":"bingbong.aiff"},"acme1":"bar","acme2":42}"#,
            #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Jenna","Frank"]},"sound":"chime"}}"#,
            #"{"aps":{"badge":0}}"#, #"{"aps":{"content-available":1}}"#,
            #"{"aps":{"alert":{"body":"one button","action-loc-key":null}}}"#,
        ]
        for example in examples {
            #expect(Self.scan([UInt8](example.utf8)) == .success([UInt8](example.utf8)))
        }
    }
}
