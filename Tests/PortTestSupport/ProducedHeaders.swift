/// The headers of a record as a producer is handed them. Names may repeat.
extension [(String, [UInt8])] {
    /// The text of the first header of a name; nil: there is none.
    package func text(_ name: String) -> String? {
        first { $0.0 == name }.map { String(decoding: $0.1, as: UTF8.self) }
    }
}
