import KafkaClient
import PipelineCore

/// Where an assignment begins: in its partition of push.requests, and in that of push.parked.
struct AssignmentStart: Equatable {
    var source: KafkaPartitionOffset
    var parked: KafkaPartitionOffset
    /// The positions are this shard's own, and the broker has not committed them.
    var isRefused = false
    /// What of push.parked is to return; nil: nothing.
    var inherited: Inherited?

    struct Inherited: Equatable {
        var lags: ParkedLags
        /// What push.parked holds.
        var held: KafkaWatermarks
    }
}

/// What the assignments before left parked.
extension WorkerShard {
    /// Reads the committed positions of partitions.
    func assignmentStarts(of places: [KafkaTopicPartition]) throws(KafkaError) -> [AssignmentStart] {
        let parked = places.map { KafkaTopicPartition(topic: settings.names.parked, partition: $0.partition) }
        let committed = try consumer.committed(
            places + parked,
            timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds
        )
        var starts: [AssignmentStart] = []
        for (source, parked) in zip(committed.prefix(places.count), committed.dropFirst(places.count)) {
            var start = refused.furthest(AssignmentStart(source: source, parked: parked))
            if start.parked.offset >= 0, !start.parked.metadata.isEmpty {
                try findInheritance(of: &start)
            }
            starts.append(start)
        }
        for start in starts { refused.forget(start) }
        return starts
    }

    private func findInheritance(of start: inout AssignmentStart) throws(KafkaError) {
        let held = try consumer.watermarks(
            of: start.parked.place,
            timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds
        )
        var lags = ParkedLags()
        do throws(ParkedLags.DecodingError) {
            lags = try ParkedLags(decoding: start.parked.metadata, committedOffset: start.parked.offset)
        } catch {
            logger.warning(
                "commit metadata of push.parked is not ours; everything behind its offset may be lag",
                metadata: ["partition": "\(start.parked.partition)"]
            )
            lags.othersMayLag = true
        }
        start.inherited = .init(lags: lags, held: held)
        if let again = redone(lags.segments) {
            logger.warning(
                "too many assignments have left parked notifications; the last one's work is done again",
                metadata: ["partition": "\(start.source.partition)", "from": "\(again.source)"]
            )
            start.source.offset = min(start.source.offset, again.source)
        }
    }

    /// What the assignment before wrote, if there is no room to say that there was one more: this one takes its place.
    private func redone(_ segments: ParkedSegments) -> ParkedSegments.Segment? {
        let limit = ParkedLags.segmentLimit(limitBytes: settings.metadataBytes)
        return segments.segments.count >= limit ? segments.segments.last : nil
    }

    /// Takes over the lag that the assignment before left. Its topics are probed first, and what is new waits behind it.
    func inherit(_ start: AssignmentStart, by partition: PartitionState) {
        guard let inherited = start.inherited else { return }
        var parked = inherited.lags
        let held = inherited.held
        partition.parking.places.noteEnd(held.high)
        partition.parking.inherit(parked.segments, end: held.high)
        let again = redone(partition.parking.segments)
        partition.parking.begin(at: again?.start ?? held.high, source: start.source.offset)
        if parked.othersMayLag {
            parked.lags.append(.init(topic: ParkedPartition.others, cursor: start.parked.offset))
        }
        for lag in parked.lags {
            if lag.cursor < held.low { noteDeletedCopies(from: lag.cursor, to: held.low, in: partition) }
            let cursor = max(lag.cursor, held.low)
            partition.parking.places.inherit(lag.topic, from: cursor)
            addLag(of: lag.topic, from: cursor, done: lag.done, to: partition)
        }
        if parked.othersMayLag { for sender in senders.senders { sender.detours = true } }
        logger.info(
            "parked notifications of another assignment are to return",
            metadata: [
                "partition": "\(partition.partition)", "topics": "\(parked.lags.count)",
                "from": "\(start.parked.offset)", "end": "\(held.high)",
            ]
        )
    }

    /// Retention has deleted copies before they returned: the reader goes on behind them.
    func skipDeletedCopies(of partition: PartitionState) {
        guard let position = partition.parking.places.position else { return }
        partition.parking.places.halt()
        nextReading = now + ShardLimits.retryInterval
        do throws(KafkaError) {
            let there = try consumer.watermarks(
                of: parkedPlace(of: partition),
                timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds
            )
            guard position < there.low else {
                return logger.critical(
                    "push.parked ends before what was parked there; its topics stay parked until that is set right",
                    metadata: [
                        "partition": "\(partition.partition)", "offset": "\(position)", "end": "\(there.high)",
                    ]
                )
            }
            noteDeletedCopies(from: position, to: there.low, in: partition)
            partition.parking.places.skip(to: there.low)
        } catch {
            logger.warning("where push.parked begins could not be read; trying again", metadata: ["error": "\(error)"])
        }
    }

    private func noteDeletedCopies(from offset: Int64, to low: Int64, in partition: PartitionState) {
        counters.recordsLost += Int(low - offset)
        logger.critical(
            "retention has overtaken what was parked: copies were deleted before they returned",
            metadata: [
                "partition": "\(partition.partition)", "offset": "\(offset)", "first": "\(low)",
                "lost": "\(low - offset)",
            ]
        )
    }

    /// The partition goes: nothing of it is parked or returns any more.
    func endParking(of partition: PartitionState) {
        dropCopies(of: partition)
        reader?.stop(parkedPlace(of: partition))
        // A lag and its owner hold each other.
        partition.parking = PartitionParking(writer: partition.parking.writer)
    }
}
