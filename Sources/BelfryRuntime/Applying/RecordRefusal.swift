import PushSchemas

/// Why a record, or one token of it, cannot be used: what its dead letter says.
struct RecordRefusal: Error, Equatable, Sendable {
    /// A stable code.
    var reason: String
    /// What was found and what is allowed, for a person to read.
    var detail: String

    /// Runs `body`, whose faults are refusals too.
    static func of<R>(_ body: () throws(RecordError) -> R) throws(RecordRefusal) -> R {
        do throws(RecordError) {
            return try body()
        } catch {
            throw RecordRefusal(reason: error.fault.rawValue, detail: error.message)
        }
    }
}
