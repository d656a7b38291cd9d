/// A number with its noun in the form that fits, for instance "1 token" and "2 tokens".
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
}

extension ClosedRange where Bound: BinaryInteger {
    /// The allowed values, for messages: "32...100", or "32" where nothing else is.
    package var allowedText: String {
        lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound)...\(upperBound)"
    }
}
