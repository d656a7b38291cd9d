/// The reason why a record, or one token of it, cannot be used, as in its dead letter.
public struct RecordRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// A stable code.
    public var reason: String
    /// The finding and the allowed values, for a person to read: at most 1 KiB, for it may quote the record.
    public let detail: String

    private static let detailBytes = 1024

    /// - Parameter detail: a longer one is cut, and marked with an ellipsis.
    public init(reason: String, detail: String) {
        self.reason = reason
        self.detail = detail.shortened(toBytes: Self.detailBytes)
    }

    public init(_ error: RecordError) {
        self.init(reason: error.fault.rawValue, detail: error.message)
    }

    /// The refusal of a token with a length that is not allowed.
    ///
    /// - Parameter bytes: its length.
    public static func tokenLength(_ bytes: Int, allowed: ClosedRange<Int>) -> RecordRefusal {
        let most = allowed.count > 1 ? "...\(allowed.upperBound)" : ""
        return RecordRefusal(
            reason: "token-length",
            detail: "the token has \(bytes) byte\(bytes == 1 ? "" : "s"); allowed: \(allowed.lowerBound)\(most)"
        )
    }

    /// Runs `body` and turns its errors into refusals.
    public static func of<R>(_ body: () throws(RecordError) -> R) throws(RecordRefusal) -> R {
        do throws(RecordError) {
            return try body()
        } catch {
            throw RecordRefusal(error)
        }
    }

    public var description: String { "\(reason): \(detail)" }
}
