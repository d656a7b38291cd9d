/// Refusals of the topics of requests (`TopicDisallowed`, `BadTopic`) with the credential that an app has.
///
/// An app sends to several topics: its bundle ID, alone and with the suffixes of push types. A refusal concerns one of
/// them, and it may be that
/// - the credential lacks this topic: then requests for it are rejected, and the rest goes on; or
/// - the credential is not the app's any more, or never was: then the app does not work, and waits.
///
/// Another topic that is accepted decides for the former, if it was since this one is refused, or if this one was never
/// accepted. The bundle ID alone is judged by topics with its credential only: that others work says nothing of it.
/// Else a notification goes again, ``attempts`` times at most, so that one for a wrong topic does not stay.
/// After ``most`` different notifications without an acceptance the app does not work, and none is rejected any more.
/// So fewer than ``most`` are lost to a wrong credential. [ours]
///
/// Pure, and free of clocks.
public struct TopicRefusals: Equatable, Sendable {
    /// The consequence of a refusal.
    public enum Judgement: Equatable, Sendable {
        /// The same later.
        case goesAgain
        /// Refused for good; the first for this topic since an acceptance of it is news.
        case rejected(isNews: Bool)
        /// The app does not work; the notification waits.
        case doesNotWork
    }

    private struct Notification: Hashable {
        var reference: NotificationReference
        /// Tells notifications of different shards apart.
        var checksum: UInt32
    }

    private struct Topic: Equatable {
        let suffix: String
        /// Number of the event with the last acceptance; 0: there was none with this credential.
        var acceptedAt = 0
        /// Number of the event with the first refusal since then; 0: there was none.
        var refusedAt = 0
        /// Attempts of notifications refused since then; ``TopicRefusals/most`` at most.
        var run: [Notification: Int] = [:]
        var isTold = false

        var works: Bool { acceptedAt > 0 && refusedAt == 0 }
    }

    /// Different notifications in a row from which on the app does not work.
    public static let most = 20
    /// Attempts of a notification before it is rejected.
    public static let attempts = 5

    /// Topics with news, of push types at most.
    private var topics: [Topic] = []
    private var events = 0

    /// The suffixes of topics for which the app does not work.
    var refusedSuffixes: [String] { topics.filter { $0.run.count >= Self.most }.map(\.suffix) }

    /// A notification for a topic was accepted.
    mutating func accepted(_ suffix: String) {
        events += 1
        let index = index(of: suffix)
        topics[index] = Topic(suffix: suffix, acceptedAt: events)
    }

    /// A notification was refused because of its topic.
    ///
    /// - Parameters:
    ///   - checksum: CRC-32 of the token.
    ///   - judges: the suffixes of the topics whose acceptances decide; nil: all.
    mutating func refused(
        _ suffix: String,
        _ reference: NotificationReference,
        checksum: UInt32,
        judges: [String]? = nil
    ) -> Judgement {
        events += 1
        let index = index(of: suffix)
        if topics[index].refusedAt == 0 { topics[index].refusedAt = events }
        let since = topics[index].acceptedAt > 0 ? topics[index].refusedAt : 0
        let isJudged = topics.contains { topic in
            topic.works && topic.acceptedAt > since && judges?.contains(topic.suffix) ?? true
        }
        guard !isJudged else { return reject(index) }
        guard topics[index].run.count < Self.most else { return .doesNotWork }
        let notification = Notification(reference: reference, checksum: checksum)
        let attempts = topics[index].run[notification, default: 0] + 1
        topics[index].run[notification] = attempts
        if topics[index].run.count == Self.most { return .doesNotWork }
        return attempts < Self.attempts ? .goesAgain : reject(index)
    }

    /// Forgets the acceptances of a former credential, and the refusals, too, unless the app does not work because of
    /// them: its next probe decides then.
    mutating func changeCredential() {
        topics = topics.filter { $0.run.count >= Self.most }
        for index in topics.indices { topics[index].acceptedAt = 0 }
    }

    private mutating func reject(_ index: Int) -> Judgement {
        defer { topics[index].isTold = true }
        return .rejected(isNews: !topics[index].isTold)
    }

    private mutating func index(of suffix: String) -> Int {
        if let known = topics.firstIndex(where: { $0.suffix == suffix }) { return known }
        topics.append(Topic(suffix: suffix))
        return topics.count - 1
    }
}
