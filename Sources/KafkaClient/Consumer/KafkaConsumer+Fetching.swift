import CRdKafka

/// Controls fetching: pausing, resuming and moving assigned partitions.
extension KafkaConsumer {
    /// Stops fetching partitions; messages fetched and not returned are dropped, and fetched again after
    /// ``resume(_:)``. Handlers are served as before. Pausing twice is pausing once.
    ///
    /// A partition that is revoked and comes back is not paused any more.
    public func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        let handle = try openHandle("pause")
        let running = assignment.pause(partitions)
        guard !running.isEmpty else { return }
        let list = KafkaPartitionList(running)
        let code = rd_kafka_pause_partitions(handle.pointer, list.pointer)
        if let failure = list.failure(code, "pause") {
            _ = assignment.resume(running)
            throw failure
        }
    }

    /// Resumes partitions after ``pause(_:)`` with the message after the last one returned. Does nothing to partitions
    /// that are not paused.
    public func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        let handle = try openHandle("resume")
        let paused = assignment.resume(partitions)
        guard !paused.isEmpty else { return }
        let list = KafkaPartitionList(paused)
        let code = rd_kafka_resume_partitions(handle.pointer, list.pointer)
        if let failure = list.failure(code, "resume") { throw failure }
    }

    /// Moves assigned partitions to other positions, without waiting until the seek is done. The way out of an offset
    /// that is out of range.
    ///
    /// Messages fetched before the seek are not returned any more. An offset out of range is still reported in place of
    /// a message. One found before the seek may still be reported after it, and has stopped the partition: seek again
    /// then.
    ///
    /// A partition that yielded nothing since it was assigned, or only an error, is started anew instead. In an eager
    /// group that drops the messages fetched from all partitions, to be fetched again.
    ///
    /// - Parameter positions: offsets, or ``KafkaOffset/beginning`` and ``KafkaOffset/end``.
    /// - Throws: `KafkaError`; nothing is moved if one of the partitions is not assigned.
    public func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError) {
        let handle = try openHandle("seek")
        if let stranger = positions.first(where: { assignment.starts[$0.place] == nil }) {
            throw KafkaError(RD_KAFKA_RESP_ERR__STATE, "seek in \(stranger.place)", detail: "it is not assigned")
        }
        // In a partition that is stopped, or not begun, a seek would be lost.
        guard positions.allSatisfy({ assignment.running.contains($0.place) }) else {
            return try restart(positions, handle)
        }
        guard !positions.isEmpty else { return }
        let list = KafkaPartitionList(positions)
        if let error = rd_kafka_seek_partitions(handle.pointer, list.pointer, 0) {
            throw KafkaError(consuming: error, "seek")
        }
        for (position, element) in zip(positions, KafkaPartitionList.elements(of: list.pointer)) {
            // A seek that has begun is not finished, which is no failure here.
            guard element.err == RD_KAFKA_RESP_ERR__IN_PROGRESS || element.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw KafkaError(element.err, "seek in \(position.place)")
            }
            assignment.move(position)
        }
    }
}
