import TestSupport
import Testing

@testable import Sandbox

/// The mark by which an audit tells notifications to one device apart.
struct PayloadMarkTests {
    private func mark(_ payload: String) -> UInt32 {
        Array(payload.utf8).withUnsafeBytes(PayloadMark.read)
    }

    @Test(
        "An integer at the top level is its own mark",
        arguments: [
            (#"{"aps":{},"n":0}"#, 0), (#"{"n":1,"aps":{}}"#, 1), (#"{"n" : 42 , "aps":{}}"#, 42),
            ("{\n\t\"aps\":{},\r\n \"n\":\t7\n}", 7), (#"{"n":2147483647}"#, 2_147_483_647),
            (#"{"aps":{"alert":"a \" b"},"n":3}"#, 3), (#"{"aps":{"alert":"\\"},"n":4}"#, 4),
            (#"{"x":[1,{"y":"}"}],"n":5}"#, 5), (#"{"x":"n","n":6}"#, 6),
        ] as [(String, UInt32)]
    )
    func integers(payload: String, expected: UInt32) {
        #expect(mark(payload) == expected)
    }

    @Test(
        "Without the key at the top level the mark is `absent`",
        arguments: [
            #"{"aps":{}}"#, #"{"aps":{"n":1}}"#, #"{"aps":{"alert":"\"n\":1"}}"#, #"{"x":["n",1]}"#, #"{"x":"n"}"#,
            #"{"nn":1}"#, #"{"N":1}"#, "", "{", #"{"n"#, #"{"n""#, #"{"n":"#, "no JSON",
        ]
    )
    func absent(payload: String) {
        #expect(mark(payload) == PayloadMark.absent)
    }

    @Test("Values that are not small integers have marks of their own, above all integers'")
    func otherValues() {
        let values = [
            "-1", "1.0", "1e3", "2147483648", "99999999999999999999", #""1""#, #""a,b""#, #""a}""#, #""""#, "true",
            "null", "[1,2]", "[1,3]", #"{"a":1}"#, #"{"a":"}"}"#, #"{"a":"]"}"#,
        ]
        let marks = values.map { mark(#"{"n":\#($0),"aps":{}}"#) }
        #expect(Set(marks).count == values.count)
        #expect(marks.allSatisfy { $0 >= 1 << 31 && $0 != PayloadMark.absent })
        #expect(marks == values.map { mark(#"{"aps":{}, "n": \#($0) }"#) }, "where it stands does not matter")
    }

    @Test("The scan of every payload ends inside it, with the same mark wherever the payload lies")
    func hostilePayloads() {
        var random = SeededGenerator(seed: 1)
        let alphabet = Array(#"{}[]",:\n01 "#.utf8)
        for _ in 0..<20_000 {
            let payload = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            // A scan that goes too far would take the bytes behind the payload for part of it.
            let marks = [#""n":1,"n":2}"#, #"\\"]]}},"n":3"#].map { behind in
                (payload + Array(behind.utf8)).withUnsafeBytes { bytes in
                    PayloadMark.read(UnsafeRawBufferPointer(rebasing: bytes[..<payload.count]))
                }
            }
            #expect(marks[0] == marks[1])
        }
    }
}
