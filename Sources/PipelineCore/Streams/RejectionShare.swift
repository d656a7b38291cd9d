/// The share of rejections among the latest answers to a topic.
///
/// The service slows a connection with many rejections down, or closes it; 410 does not count [later]. Topics of a team
/// share connections, so a topic with many gets connections of its own. [ours]
struct RejectionShare {
    /// Answers from which on the share is looked at. Twice as many are halved, so that the latest weigh most.
    static let sample = 200
    /// Shares, in percent: from the higher one on a topic has many rejections, until the lower one is reached.
    static let high = 5
    static let low = 1

    private(set) var isHigh = false
    private var rejections = 0
    private var answers = 0

    mutating func countAnswer(isRejection: Bool) {
        answers += 1
        if isRejection { rejections += 1 }
        guard answers >= Self.sample else { return }
        if rejections * 100 >= Self.high * answers { isHigh = true }
        if rejections * 100 <= Self.low * answers { isHigh = false }
        guard answers >= 2 * Self.sample else { return }
        answers /= 2
        rejections /= 2
    }
}
