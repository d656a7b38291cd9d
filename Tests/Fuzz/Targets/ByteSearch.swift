extension [UInt8] {
    /// These bytes stand somewhere in the array, in a row.
    func contains(part: [UInt8]) -> Bool {
        guard let first = part.first, count >= part.count else { return false }
        return (0...count - part.count).contains { self[$0] == first && self[$0..<$0 + part.count].elementsEqual(part) }
    }
}
