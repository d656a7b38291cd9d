import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics

/// Records that go on in another lane, or came from one.
extension Intake {
    /// Takes in a record that goes on in another lane, where it is published.
    func move(_ request: SendRequestView, _ admitted: AdmittedRecord) {
        guard let source else { return }
        counters.took(request.tokenCount)
        let most = admitted.topic.payload.mostBytes
        let record = add(
            admitted.message,
            at: admitted.index,
            to: admitted.feed,
            of: source,
            tokens: request.tokenCount,
            report: request.report,
            // It may have to be sent here after all, and is not judged before that.
            payloadBytes: request.isStructured ? most : min(most, request.payload.count)
        )
        // In the order of the records, for the same reason.
        begin(request.report, of: record, in: admitted.feed, tokens: request.tokenCount)
        let requestKey = requestKey(of: request, admitted.message)
        noteNames(
            of: request,
            requestKey,
            admitted.message,
            record,
            in: admitted.feed,
            changesBadges: request.mayChangeBadges
        )
        ended += request.tokenCount
        outcomes.move(record, of: admitted.feed, admitted.topic)
    }

    /// The key by which a request is remembered; nil: it is not.
    ///
    /// A request without an id may have been moved twice, if the worker ended in between.
    func requestKey(of request: SendRequestView, _ message: KafkaMessageView) -> SipHash? {
        guard remembersRequests else { return nil }
        guard request.requestID.isEmpty else { return RequestFingerprint.key(requestID: request.requestID) }
        // Entries of one token with different values are several notifications, and would share the key.
        guard let origin = origin(of: message), !request.hasOverrides else { return nil }
        return origin.key(position: 0)
    }

    /// Notes the names by which Redis knows the notifications of a record that has just entered its feed.
    ///
    /// - Parameter key: see ``requestKey(of:_:)``.
    func noteNames(
        of request: SendRequestView,
        _ key: SipHash?,
        _ message: KafkaMessageView,
        _ record: UInt32,
        in feed: AppFeed,
        changesBadges: Bool
    ) {
        if let key { feed.requestKeys.append(key, for: record) }
        guard changesBadges else { return }
        feed.noteBadges(of: record)
        // An id that is remembered is the same in all lanes.
        guard key == nil || request.requestID.isEmpty, let origin = origin(of: message) else { return }
        feed.origins.append(origin, for: record)
    }

    /// The place out of which a record was moved into the lane; nil: it was not.
    private func origin(of message: KafkaMessageView) -> MovedOrigin? {
        movesFrom.flatMap { MovedOrigin(of: message, from: $0) }
    }
}
