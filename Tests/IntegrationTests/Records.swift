import Foundation
import LocalPipeline
import PushSchemas

/// Makes single records, good by default, each wrong in what a test says.
struct Records {
    /// Tokens that the sandbox minted.
    let tokens: [[UInt8]]
    private var number = 0

    init(tokens: [[UInt8]]) {
        self.tokens = tokens
    }

    /// Tokens that the gateway calls invalid, spread among the others so that each stands between two that it accepts:
    /// only then is it believed.
    func spread(_ invalid: [[UInt8]], among good: some Collection<[UInt8]>) -> [[UInt8]] {
        precondition(good.count > invalid.count)
        let good = Array(good)
        let step = good.count / (invalid.count + 1)
        return good.enumerated().flatMap { index, token in
            let number = (index + 1) / step
            let isNext = (index + 1).isMultiple(of: step) && number <= invalid.count
            return isNext ? [token, invalid[number - 1]] : [token]
        }
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
