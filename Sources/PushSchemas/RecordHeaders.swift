/// The rule for the headers of the records that publishers write.
public enum RecordHeaders {
    /// Most bytes of names and values together. What is passed on, a trace and the name of an encoding, takes hundreds.
    public static let limitBytes = 16 << 10

    /// Refuses a record with more: a record waits with its headers.
    ///
    /// - Parameter bytes: of names and values together; nil: the headers cannot be read.
    public static func check(bytes: Int?) throws(RecordRefusal) {
        guard let bytes else { throw tooLarge("damaged, or more than 8191") }
        guard bytes <= limitBytes else { throw tooLarge("\(bytes) bytes of names and values") }
    }

    private static func tooLarge(_ found: String) -> RecordRefusal {
        RecordRefusal(
            reason: "headers-too-large",
            detail: "the headers are \(found); \(limitBytes) bytes are allowed"
        )
    }
}
