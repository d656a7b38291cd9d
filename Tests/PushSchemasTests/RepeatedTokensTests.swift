import Foundation
import TestSupport
import Testing

@testable import PushSchemas

@Suite("Tokens that a request has several times")
struct RepeatedTokensTests {
    private func repeated(_ fill: (inout PushSendRequest) -> Void) throws -> [Bool] {
        let value: [UInt8] = try PushSendRequest.with {
            $0.payload = Data("{}".utf8)
            fill(&$0)
        }.serializedBytes()
        return try value.withUnsafeBytes { try SendRequestView(decoding: $0, as: .protobuf).findRepeatedTokens() }
    }

    private static func token(_ number: Int) -> Data {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Data(repeating: 1, count: 24) + Data($0) }
    }

    @Test("One token, and several that differ, are none")
    func differing() throws {
        for count in [1, 2, 3, 500, 4096] {
            let found = try repeated { request in
                for number in 0..<count { request.packedTokens += Self.token(number) }
            }
            #expect(found.isEmpty)
        }
        #expect(try repeated { $0.channel = "dHN0" }.isEmpty)
    }

    @Test("In whichever form a token stands, it is the same; tokens that are wrong are told as such, not as repeated")
    func forms() throws {
        let found = try repeated { request in
            request.tokens = [
                .with { $0.raw = Data([1, 0xAB]) }, .with { $0.hex = "01aB" }, .with { $0.raw = Data([1]) },
                .with { $0.hex = "zz" }, .with { $0.hex = "zz" }, .with { $0.raw = Data() }, .with { $0.raw = Data() },
                .with { $0.raw = Data([1]) },
            ]
        }
        #expect(found == [false, true, false, false, false, false, false, true])
    }

    @Test("A token with other values of its own is another notification, with the same ones it is not")
    func ownValues() throws {
        let found = try repeated { request in
            request.notification.alert.body = "Hi"
            request.tokens = ([nil, 5, 6, 5, nil] as [UInt32?]).map { badge in
                .with {
                    $0.raw = Self.token(1)
                    if let badge { $0.badge = badge }
                }
            }
        }
        #expect(found == [false, false, false, true, true])
    }

    @Test("Those are found that plain counting finds", arguments: 0..<20 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let kinds = Int.random(in: 1...600, using: &random)
        let numbers = (0..<500).map { _ in Int.random(in: 0..<kinds, using: &random) }
        let found = try repeated { request in
            for number in numbers { request.packedTokens += Self.token(number) }
        }
        var seen: Set<Int> = []
        #expect(found == numbers.map { !seen.insert($0).inserted })
    }
}
