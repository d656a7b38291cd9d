/// Notifications that a gateway accepted, and tokens that it refused.
struct AnswerCounts: Equatable, Sendable {
    /// A share of 1, in millionths.
    static let whole = 1_000_000

    var accepted = 0
    var refused = 0

    var judged: Int { accepted + refused }

    /// The share of refused tokens among the judged notifications is exceeded.
    ///
    /// - Parameter share: in millionths.
    func exceeds(_ share: Int) -> Bool { refused * Self.whole > share * judged }

    /// So many were refused that a sample of `size` cannot pass any more.
    func fails(_ size: Int, share: Int) -> Bool { refused * Self.whole > share * size }

    /// So many were accepted that a sample of `size` cannot fail any more.
    func passes(_ size: Int, share: Int) -> Bool { accepted * Self.whole >= (Self.whole - share) * size }

    /// Halves the counts while they hold two samples or more, so that the latest answers weigh most.
    mutating func forget(beyond sample: Int) {
        while judged >= 2 * sample {
            accepted /= 2
            refused /= 2
        }
    }
}
