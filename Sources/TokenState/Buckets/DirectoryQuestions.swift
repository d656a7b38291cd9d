import RedisClient

/// Questions for the numbers of buckets of one bundle's hash tags, put for look-ups that may find nothing.
///
/// A token that is not in its bucket is unknown only if its tag had as many buckets at that moment as it was looked for
/// by; else it may have moved in a split. The number never falls. So it was that one if it still is in a question that
/// ran behind the look-up. One that ran before proves nothing: the split may have come between the two.
///
/// A question that waits for the look-up's answer costs a second round trip. One that leaves with it costs a command
/// that tokens which are found do not need. So a tag is asked about along with its look-ups, once for all of a batch,
/// if the last one there found nothing, or there was none. Bundles whose tokens are known pay nothing for that, and
/// those whose tokens are unknown have one round trip. Where both are mixed about as many questions are in vain as
/// tokens are unknown.
struct DirectoryQuestions {
    typealias Listener = (Result<Int, RedisError>) -> Void

    /// A question that was sent.
    final class Question {
        /// Counts the bundle's questions, from 1.
        fileprivate let number: Int
        /// The look-ups that need the answer.
        var listeners: [Listener]

        fileprivate init(number: Int, _ listeners: [Listener]) {
            self.number = number
            self.listeners = listeners
        }
    }

    /// Questions so far.
    private(set) var count = 0
    /// For each tag: the next token that is looked up there is probably unknown.
    var expectsUnknown = [Bool](repeating: true, count: TokenKeys.tags)
    /// Tags that are asked about when the batch has been sent.
    var isDue: Set<Int> = []
    /// Questions without an answer by tag, oldest first.
    private var open: [Int: [Question]] = [:]

    mutating func ask(ofTag tag: Int, _ listeners: [Listener]) -> Question {
        count += 1
        let question = Question(number: count, listeners)
        open[tag, default: []].append(question)
        return question
    }

    /// The oldest question about a tag that has no answer and came after the bundle's first `count`; nil: none.
    func open(ofTag tag: Int, after count: Int) -> Question? {
        open[tag]?.first { $0.number > count }
    }

    /// A question has its answer.
    mutating func close(_ question: Question, ofTag tag: Int) {
        open[tag]?.removeAll { $0 === question }
        if open[tag]?.isEmpty == true { open[tag] = nil }
    }
}
