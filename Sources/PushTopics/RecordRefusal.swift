import PushSchemas

/// The reason why a record, or one token of it, cannot be used, as in its dead letter.
package struct RecordRefusal: Error, Equatable, Sendable {
    /// A stable code.
    package var reason: String
    /// The finding and the allowed values, for a person to read.
    package var detail: String

    package init(reason: String, detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// Runs `body` and turns its errors into refusals.
    package static func of<R>(_ body: () throws(RecordError) -> R) throws(RecordRefusal) -> R {
        do throws(RecordError) {
            return try body()
        } catch {
            throw RecordRefusal(error)
        }
    }

    package init(_ error: RecordError) {
        self.init(reason: error.fault.rawValue, detail: error.message)
    }
}
