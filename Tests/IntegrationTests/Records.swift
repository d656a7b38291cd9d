import Foundation
import PushSchemas

@testable import Demo

/// Makes single records, good by default, each wrong in what a test says.
struct Records {
    /// Tokens that the sandbox minted.
    let tokens: [[UInt8]]
    private var number = 0

    init(tokens: [[UInt8]]) {
        self.tokens = tokens
    }

    /// A request that nothing is wrong with, in Protobuf, marked with a number of its own.
    mutating func request(_ tokens: [[UInt8]]) -> PushSendRequest {
        number += 1
        let number = number
        return .with {
            $0.requestID = "test-\(number)"
            $0.payloadJson = #"{"aps":{"alert":"Edition \#(number)"},"n":\#(number)}"#
            $0.tokens = tokens.map { token in .with { $0.raw = Data(token) } }
        }
    }

    /// A record of such a request, changed.
    mutating func record(
        key: String = news,
        to tokens: [[UInt8]],
        asJSON: Bool = false,
        headers: [(String, [UInt8])] = [],
        _ change: (inout PushSendRequest) -> Void = { _ in }
    ) throws -> PlannedRecord {
        var request = request(tokens)
        change(&request)
        return PlannedRecord(
            key: key,
            value: asJSON ? try request.jsonUTF8Bytes() : try request.serializedBytes(),
            isJSON: asJSON,
            notifications: tokens.count,
            headers: headers
        )
    }
}
