import Foundation
import PushSchemas
import SwiftProtobuf

/// The value of a record that is made once: from record to record only the number in its payload changes, by which the
/// sandbox tells notifications of a device apart.
struct NumberedRequest: Sendable {
    private(set) var value: [UInt8]
    /// Index of the number's first digit.
    private let firstDigit: Int

    /// Numbers are counted from here, so that all have as many digits. The sandbox takes what is below 2³¹ as it is.
    private static let origin = 1_000_000_000
    private static let digits = 10
    private static let name = #""n":"#

    /// - Parameters:
    ///   - tokens: 32 bytes each, end to end.
    ///   - title: of the alert, by which the sandbox counts; nil: it has none.
    init(tokens: [UInt8], title: String? = nil) throws {
        let alert = title.map { #"{"title":"\#($0)","body":"Code"}"# } ?? #""Edition""#
        let number = "\(Self.name)\(Self.origin)"
        let request = PushSendRequest.with {
            $0.payloadJson = #"{"aps":{"alert":\#(alert)},\#(number)}"#
            $0.packedTokens = Data(tokens)
        }
        let bytes: [UInt8] = try request.serializedBytes()
        guard let place = bytes.firstRange(of: Array(number.utf8)) else {
            throw BenchmarkError("a request lost the number of its payload")
        }
        value = bytes
        firstDigit = place.lowerBound + Self.name.utf8.count
    }

    /// - Parameter number: 0...1,147,483,647.
    mutating func setNumber(_ number: Int) {
        var rest = Self.origin + number
        for index in (firstDigit..<firstDigit + Self.digits).reversed() {
            value[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }
}
