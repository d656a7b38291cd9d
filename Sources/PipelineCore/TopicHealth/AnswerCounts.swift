/// Notifications that a gateway accepted, and tokens that it refused.
struct AnswerCounts: Equatable, Sendable {
    /// A share of 1, in millionths.
    static let whole = 1_000_000

    var accepted = 0
    var refused = 0

    var judged: Int { accepted + refused }

    /// More than the share of what was judged was refused.
    ///
    /// - Parameter share: in millionths.
    func exceeds(_ share: Int) -> Bool { refused * Self.whole > share * judged }

    /// Refused so often that a sample of that size cannot pass any more.
    func fails(_ size: Int, share: Int) -> Bool { refused * Self.whole > share * size }

    /// Accepted so often that a sample of that size cannot fail any more.
    func passes(_ size: Int, share: Int) -> Bool { accepted * Self.whole >= (Self.whole - share) * size }

    /// Halves the counts for as long as they hold two samples or more, so that the latest answers weigh most.
    mutating func forget(beyond sample: Int) {
        while judged >= 2 * sample {
            accepted /= 2
            refused /= 2
        }
    }
}
