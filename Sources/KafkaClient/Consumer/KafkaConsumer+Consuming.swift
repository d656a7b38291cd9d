import CRdKafka
import NIOCore

/// Takes messages, and serves all other events that come with them.
extension KafkaConsumer {
    /// Takes fetched messages; returns nil when nothing is left.
    ///
    /// Handlers run from inside this call, in order with the messages: messages before a rebalance are returned first,
    /// and the rebalance is reported by the next call. So a caller that is woken calls until it gets nil; one that
    /// stops earlier calls again by itself when it has room, because elements already in the queue give no signal. A
    /// caller without room must keep calling too (``pause(_:)`` first, then only handlers are served), or the group
    /// takes it for dead.
    ///
    /// After a pause or a cooperative rebalance librdkafka may deliver a message a second time: a caller that counts
    /// must ignore offsets below its next one.
    ///
    /// - Parameters:
    ///   - max: most messages to return, at least 1.
    ///   - timeoutMilliseconds: the longest wait for the first message; 0 on an event loop.
    public func consumeBatch(max: Int, timeoutMilliseconds: Int32 = 0) -> KafkaBatch? {
        precondition(max > 0, "a batch has room for a message")
        let deadline = ContinuousClock.now.advanced(by: .milliseconds(timeoutMilliseconds))
        while true {
            deliverCommitAnswers()
            deliverReports()
            guard let handle else { return nil }
            let served = serve(max: max, timeoutMilliseconds: 0)
            let kept = keepAssigned(served)
            if kept > 0 { return fetched.batch(kept, handle: handle) }
            deliverReports()
            if served == max { continue }
            guard timeoutMilliseconds > 0, phase == .open || phase == .closing, ContinuousClock.now < deadline else {
                return nil
            }
            // librdkafka waits until a batch is full, so the wait is for one message; and it goes on waiting after a
            // callback, so the wait is short.
            let waited = serve(max: 1, timeoutMilliseconds: Self.waitMilliseconds)
            if keepAssigned(waited) > 0 { return fetched.batch(waited, handle: handle) }
        }
    }

    /// Passes fetched messages to `body`, view by view, and releases them.
    ///
    /// - Returns: the number of messages; 0 when nothing is left.
    public func consumeBatch(max: Int, _ body: (KafkaMessageView) -> Void) -> Int {
        guard let batch = consumeBatch(max: max) else { return 0 }
        let count = batch.count
        for index in 0..<count { body(batch[index]) }
        batch.release()
        return count
    }

    /// Makes the consumer call `onReadable` when something can be taken. The handler then calls
    /// ``consumeBatch(max:timeoutMilliseconds:)`` until it returns nil.
    ///
    /// Called on `eventLoop`, which is the consumer's thread from now on; the consumer is closed before the loop ends.
    /// Answers to commits have a signal of their own and come without a call of the consumer. One timer runs besides:
    /// librdkafka takes a consumer that is not served for `max.poll.interval.ms` for dead, so an idle one is served
    /// every half of that.
    public func start(on eventLoop: any EventLoop, onReadable: @escaping () -> Void) throws(KafkaError) {
        precondition(wakeUp == nil, "a consumer is started once")
        _ = try openHandle("start of the consumer")
        questions = KafkaQuestions(on: eventLoop)
        wakeUp = try makeWakeUp(on: eventLoop, queue, onReadable)
        commitWakeUp = try makeWakeUp(on: eventLoop, commitQueue) { [weak self] in self?.deliverCommitAnswers() }
        let interval = TimeAmount.milliseconds(keepAliveMilliseconds)
        let bound = NIOLoopBound(onReadable, eventLoop: eventLoop)
        keepAlive = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in bound.value() }
    }

    /// Calls `body` once in the next round of the event loop, with the sockets that are ready by then.
    ///
    /// A task is no way to leave sockets their turn: NIO's event loop runs tasks until none is due before it looks at
    /// its sockets again. Called on the event loop, after ``start(on:onReadable:)``. Nothing is called after closing.
    public func nextRound(_ body: @escaping () -> Void) { wakeUp?.nextRound(body) }

    private func makeWakeUp(
        on eventLoop: any EventLoop,
        _ queue: OpaquePointer,
        _ onWakeUp: @escaping () -> Void
    ) throws(KafkaError) -> QueueWakeUp {
        try QueueWakeUp(
            on: eventLoop,
            queue: queue,
            onFailure: { [weak self] error in
                self?.onError?(
                    KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "Kafka wake-up", detail: "\(error)")
                )
            },
            onWakeUp: onWakeUp
        )
    }

    private static let waitMilliseconds: Int32 = 20

    /// Serves librdkafka's queue once: fills `fetched` with messages and the inbox with callbacks.
    ///
    /// - Returns: the number of messages in `fetched`; fewer than `max` when the queue was found empty.
    func serve(max: Int, timeoutMilliseconds: Int32) -> Int {
        let count = fetched.fill(from: queue, max: max, timeoutMilliseconds: timeoutMilliseconds)
        if phase == .closing, let handle, rd_kafka_consumer_closed(handle.pointer) != 0 {
            phase = .left
        }
        return count
    }

    /// Drops messages of partitions that this member does not own, and closes the gaps.
    private func keepAssigned(_ count: Int) -> Int {
        var kept = 0
        for index in 0..<count {
            guard let message = fetched[index] else { continue }
            if isWanted(message) {
                fetched[kept] = message
                kept += 1
            } else {
                rd_kafka_message_destroy(message)
            }
        }
        return kept
    }

    private func isWanted(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> Bool {
        // Errors are handed out, assigned or not: a topic that does not exist never is.
        guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let topic = message.pointee.rkt else {
            // A group's consumer tells its permanent failure in place of a message, every other client by callback.
            if message.pointee.err == RD_KAFKA_RESP_ERR__FATAL, let handle {
                inbox.noteFailure(of: handle.pointer)
                return false
            }
            if message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
                noteEnd(message)
                return tellsEnds
            }
            noteStopped(message)
            return true
        }
        return assignment.contains(
            topicAddress: UInt(bitPattern: topic),
            partition: message.pointee.partition,
            offset: message.pointee.offset
        ) {
            String(cString: rd_kafka_topic_name(topic))
        }
    }

    /// The end of a partition stops nothing; any other error may.
    private func noteStopped(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        if let place = Self.place(of: message) { assignment.noteStopped(place) }
    }

    private func noteEnd(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        if let place = Self.place(of: message) { assignment.noteEnd(of: place, end: message.pointee.offset) }
    }

    private static func place(of message: UnsafeMutablePointer<rd_kafka_message_t>) -> KafkaTopicPartition? {
        message.pointee.rkt.map { topic in
            KafkaTopicPartition(
                topic: String(cString: rd_kafka_topic_name(topic)),
                partition: message.pointee.partition
            )
        }
    }

    /// Calls the handlers. A handler may call back in, even close: so one report is taken at a time.
    func deliverReports() {
        while let report = inbox.takeReport() { deliver(report) }
        if phase == .left, let onClosed {
            self.onClosed = nil
            onClosed()
        }
    }

    /// Calls back for the commits that were answered.
    func deliverCommitAnswers() {
        guard handle != nil else { return }
        rd_kafka_queue_poll_callback(commitQueue, 0)
        while let answer = inbox.takeCommitAnswer() { answerCommit(answer) }
    }

    func answerCommit(_ answer: KafkaInbox.CommitAnswer) {
        guard let commit = commits.removeValue(forKey: answer.number) else { return }
        commit.completion?(answer.error)
        onCommitted?(answer.error)
    }

    private func deliver(_ report: KafkaInbox.Report) {
        switch report {
        case .assigned(let partitions):
            unanswered.append(.assign(partitions))
            if let onAssigned {
                onAssigned(partitions)
            } else {
                answer { () throws(KafkaError) in try completeAssign() }
            }
        case .revoked(let partitions, let lost):
            withdraw(partitions)
            unanswered.append(.revoke(partitions))
            if let onRevoked { onRevoked(partitions, lost) } else { answer(completeRevoke) }
        case .rebalanceFailed(let error):
            let held = assignment.partitions
            assignment.replace(by: [])
            unanswered.removeAll(where: \.isAssign)
            onError?(error)
            // Without this call the application would keep the partitions, and commit them beside their next owner.
            onRevoked?(held, true)
        case .error(let error):
            onError?(error)
        case .log(let line):
            onLog?(line)
        }
    }

    private func answer(_ complete: () throws(KafkaError) -> Void) {
        do throws(KafkaError) {
            try complete()
        } catch {
            onError?(error)
        }
    }
}
