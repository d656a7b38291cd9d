import FoundationEssentials

/// Documents of ours as JSON on one line.
package enum DocumentJSON {
    /// Keys are sorted, so that equal documents are equal bytes. Every number is finite.
    package static func encode(_ document: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(document))
        } catch {
            preconditionFailure("a document of strings and numbers can be encoded: \(error)")
        }
    }
}
