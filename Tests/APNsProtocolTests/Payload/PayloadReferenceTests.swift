import APNsProtocol
import TestSupport
import Testing

/// The scanner against slower ways to know the same.
@Suite struct PayloadReferenceTests {
    @Test("A string of any bytes is accepted exactly when the standard library finds it to be UTF-8")
    func utf8() {
        let edges: [UInt8] = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xED, 0xFF]
        let head = [UInt8](#"{"aps":{},"x":""#.utf8)
        let tail = [UInt8](#""}"#.utf8)
        var accepted = 0
        var wrong: [[UInt8]] = []
        for lead in 0x80...UInt8.max {
            for second in edges {
                for third in edges {
                    for fourth in edges {
                        let bytes = [lead, second, third, fourth]
                        let isValid = String(validating: bytes, as: UTF8.self) != nil
                        let scanned = PayloadAcceptTests.scan(head + bytes + tail)
                        accepted += isValid ? 1 : 0
                        if (scanned == .success(head + bytes + tail)) != isValid { wrong.append(bytes) }
                    }
                }
            }
        }
        #expect(wrong.isEmpty)
        #expect(accepted > 1000)
    }

    @Test("What means something in a string is found at every distance from its beginning and end")
    func everyPosition() {
        let head = #"{"aps":{},"x":""#
        for before in 0..<40 {
            for after in 0..<20 {
                let (left, right) = (String(repeating: "a", count: before), String(repeating: "z", count: after))
                let offset = 15 + before
                let quote = [UInt8]("\(head)\(left)\"\(right)}".utf8)
                let control = [UInt8]("\(head)\(left)\u{1F}\(right)\"}".utf8)
                let escape = [UInt8]("\(head)\(left)\\q\(right)\"}".utf8)
                let continuation = [UInt8]("\(head)\(left)".utf8) + [0x80] + [UInt8]("\(right)\"}".utf8)
                if after > 0 {
                    let error = PayloadError(rule: .expectedCommaOrEnd, offset: offset + 1)
                    #expect(PayloadAcceptTests.scan(quote) == .failure(error))
                } else {
                    #expect(PayloadAcceptTests.scan(quote) == .success(quote))
                }
                let expected: [([UInt8], PayloadError)] = [
                    (control, PayloadError(rule: .controlCharacter, offset: offset)),
                    (escape, PayloadError(rule: .invalidEscape, offset: offset + 1)),
                    (continuation, PayloadError(rule: .invalidUTF8, offset: offset)),
                ]
                for (payload, error) in expected {
                    #expect(PayloadAcceptTests.scan(payload) == .failure(error))
                }
            }
        }
    }

    @Test("Agrees with a grammar written rule by rule, on random and slightly broken documents")
    func grammar() {
        var accepted = 0
        for seed in 0..<30_000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            var tokens = ["{", "\"aps\"", ":", "{"]
            tokens += RandomJSON.members(depth: 3, using: &generator)
            tokens += ["}"]
            if generator.chance(60) { tokens += [",", "\"x\"", ":"] + RandomJSON.value(depth: 3, using: &generator) }
            tokens += ["}"]
            if generator.chance(60) { RandomJSON.damage(&tokens, using: &generator) }
            let spaces = ["", "", " ", "\n", "\t\r "]
            let loose = tokens.map { $0 + (spaces.randomElement(using: &generator) ?? "") }.joined()
            let expected = ReferenceGrammar.accepts(loose)
            accepted += expected ? 1 : 0
            let result = PayloadAcceptTests.scan([UInt8](loose.utf8))
            if expected {
                // Two numbers side by side are one number without the space: such documents are never accepted.
                #expect(result == .success([UInt8](tokens.joined().utf8)), "seed \(seed): \(loose)")
            } else {
                #expect((try? result.get()) == nil, "seed \(seed): \(loose)")
            }
        }
        #expect((5000...25_000).contains(accepted), "\(accepted) of 30,000 are valid: too one-sided to tell anything")
    }
}
