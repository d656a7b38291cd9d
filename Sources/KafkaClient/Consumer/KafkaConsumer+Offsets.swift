import CRdKafka

/// Positions of partitions: committed, current, and the watermarks.
extension KafkaConsumer {
    /// Commits positions in the background. The answer comes to `completion` and ``onCommitted``: from inside
    /// ``consumeBatch(max:timeoutMilliseconds:)``, or, if the consumer was started, by itself on its event loop. So it
    /// overtakes messages that are not taken, and may overtake a rebalance. Every commit is answered, at the latest by
    /// `close`.
    ///
    /// - Parameter offsets: each is the next message to consume, with the metadata to store beside it.
    /// - Throws: `KafkaError` if the commit was not even started; then no answer comes.
    public func commit(
        _ offsets: [KafkaPartitionOffset],
        completion: ((KafkaError?) -> Void)? = nil
    ) throws(KafkaError) {
        let handle = try openHandle("commit")
        lastCommit += 1
        let ticket = KafkaCommitTicket(number: lastCommit, inbox: inbox)
        let list = KafkaPartitionList(offsets)
        let code = rd_kafka_commit_queue(
            handle.pointer,
            list.pointer,
            commitQueue,
            KafkaInbox.onCommit,
            Unmanaged.passUnretained(ticket).toOpaque()
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "commit") }
        commits[lastCommit] = PendingCommit(ticket: ticket, completion: completion)
    }

    /// The group's committed positions and their metadata, in the order asked for; ``KafkaOffset/none`` where
    /// nothing was committed.
    ///
    /// Waits for the group's coordinator: one round trip, at most `timeoutMilliseconds`.
    public func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        let handle = try openHandle("committed positions")
        return try handle.committed(partitions, timeoutMilliseconds: timeoutMilliseconds, "committed position")
    }

    /// Asks for the group's committed positions without waiting: see ``committed(_:timeoutMilliseconds:)``.
    ///
    /// - Precondition: the consumer was started on an event loop.
    /// - Parameters:
    ///   - timeoutMilliseconds: for this question. It includes the wait for earlier questions: one is asked at a time.
    ///   - completion: called once on the event loop, after this call has returned; by `close` with an
    ///     error (`isClosed`).
    public func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        startedQuestions.ask(
            "committed positions",
            of: handle,
            { handle throws(KafkaError) in
                try handle.committed(partitions, timeoutMilliseconds: timeoutMilliseconds, "committed position")
            },
            completion: completion
        )
    }

    private var startedQuestions: KafkaQuestions {
        guard let questions else { preconditionFailure("a consumer is started before it is asked in the background") }
        return questions
    }

    /// The next message this consumer would return, per partition; ``KafkaOffset/none`` before the first.
    public func positions(_ partitions: [KafkaTopicPartition]) throws(KafkaError) -> [KafkaPartitionOffset] {
        let handle = try openHandle("positions")
        let list = KafkaPartitionList(partitions)
        let code = rd_kafka_position(handle.pointer, list.pointer)
        if let failure = list.failure(code, "position") { throw failure }
        return list.offsets
    }

    /// The watermarks of the last fetch, without a request; nil before the first fetch.
    ///
    /// Marks of transactions are never handed out, so that a position stays before those at the end of the log. Once a
    /// partition was read to its end, the upper one is that of the last record instead, and who has read it has no lag.
    /// Records of an open transaction count.
    public func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? {
        guard let handle else { return nil }
        var low: Int64 = -1
        var high: Int64 = -1
        let code = rd_kafka_get_watermark_offsets(handle.pointer, place.topic, place.partition, &low, &high)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= 0 else { return nil }
        return assignment.readable(KafkaWatermarks(low: low, high: high), of: place)
    }

    /// Asks the broker for the watermarks of a partition; waits at most `timeoutMilliseconds`.
    public func watermarks(
        of place: KafkaTopicPartition,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> KafkaWatermarks {
        try KafkaWatermarks(querying: place, of: openHandle("watermarks"), timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Asks for the first offset of each partition whose record is not older than a time.
    ///
    /// - Parameters:
    ///   - time: UNIX milliseconds, at least 0.
    ///   - timeoutMilliseconds: the calling thread waits so long.
    /// - Returns: in the order of `places`; ``KafkaOffset/end`` where all records are older.
    public func offsets(
        notBefore time: Int64,
        in places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [Int64] {
        try KafkaWatermarks.ask(openHandle("offsets"), places, time, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Asks for the watermarks of partitions, without waiting: two questions to each broker that leads some.
    ///
    /// - Precondition: the consumer was started on an event loop.
    /// - Parameters:
    ///   - timeoutMilliseconds: for this question. It includes the wait for earlier questions: one is asked at a time.
    ///   - completion: called once on the event loop, after this call has returned, with as many watermarks in the same
    ///     order; by `close` with an error (`isClosed`).
    public func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        startedQuestions.ask(
            "watermarks",
            of: handle,
            { handle throws(KafkaError) in
                try KafkaWatermarks.query(places, of: handle, timeoutMilliseconds: timeoutMilliseconds)
            },
            completion: completion
        )
    }
}

extension KafkaWatermarks {
    /// The watermarks of partitions, in their order. Two questions to each broker that leads some, with half the time
    /// each.
    static func query(
        _ places: [KafkaTopicPartition],
        of handle: KafkaHandle,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks] {
        guard !places.isEmpty else { return [] }
        let timeout = timeoutMilliseconds / 2
        let low = try ask(handle, places, KafkaOffset.beginning, timeoutMilliseconds: timeout)
        let high = try ask(handle, places, KafkaOffset.end, timeoutMilliseconds: timeout)
        return zip(low, high).map { KafkaWatermarks(low: $0, high: $1) }
    }

    init(querying place: KafkaTopicPartition, of handle: KafkaHandle, timeoutMilliseconds: Int32) throws(KafkaError) {
        self = try Self.query([place], of: handle, timeoutMilliseconds: timeoutMilliseconds)[0]
    }

    /// Not `rd_kafka_query_watermark_offsets`: that keeps its time-out only until it knows the partition's leader, and
    /// then waits for as long as the leader does not answer.
    fileprivate static func ask(
        _ handle: KafkaHandle,
        _ places: [KafkaTopicPartition],
        _ time: Int64,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [Int64] {
        let list = KafkaPartitionList(places.map { KafkaPartitionOffset($0, offset: time) })
        let code = rd_kafka_offsets_for_times(handle.pointer, list.pointer, timeoutMilliseconds)
        if let failure = list.failure(code, "watermarks") { throw failure }
        return list.offsets.map(\.offset)
    }
}
