import KafkaClient

extension KafkaSettings {
    /// Prefetch of one consumer. Its partitions share one queue, and the client of this version measures that queue, so this
    /// is a budget for all of them; a fetch under way may go beyond it by its size.
    private static let prefetchKilobytes = 64 * 1024

    /// What a role's consumer is made with; the operator's properties come last and win.
    ///
    /// Offsets are committed by the role alone, with metadata. An offset that is out of range is an error to be seen, never a
    /// silent reset; a partition without a commit starts at its beginning, which the role asks for by itself.
    func consumerProperties(clientID: String) -> KafkaProperties {
        var all = common(clientID: clientID)
        all["enable.auto.commit"] = "false"
        all["enable.auto.offset.store"] = "false"
        all["auto.offset.reset"] = "error"
        all["partition.assignment.strategy"] = "range"
        all["queued.max.messages.kbytes"] = "\(Self.prefetchKilobytes)"
        // The budget in bytes decides: once this count is reached the client does not fetch again for up to a second.
        all["queued.min.messages"] = "1000000"
        all["fetch.wait.max.ms"] = "100"
        // A rebalance is noticed with a heartbeat, and the sooner the less is sent twice where its commits are refused.
        all["heartbeat.interval.ms"] = "1000"
        all = adding(to: all)
        // A name of one member in its group: what the operator gives is the process's, which may have several.
        if let process = all[Self.memberName] { all[Self.memberName] = "\(process)-\(clientID)" }
        return all
    }

    private static let memberName = "group.instance.id"

    /// What reads beside a role's consumer: without a group, and with little prefetch, for it is rarely far behind.
    ///
    /// - Parameter waitMilliseconds: how long the broker keeps a fetch that finds nothing new.
    func readerProperties(clientID: String, waitMilliseconds: Int) -> KafkaProperties {
        var all = common(clientID: clientID)
        all["queued.max.messages.kbytes"] = "4096"
        all["fetch.wait.max.ms"] = "\(waitMilliseconds)"
        return adding(to: all)
    }

    /// What a role's producer is made with: every message is acknowledged by all in-sync replicas, in order, once, and tried
    /// for as long as it takes.
    func producerProperties(clientID: String) -> KafkaProperties {
        var all = common(clientID: clientID)
        all["enable.idempotence"] = "true"
        all["acks"] = "all"
        all["message.timeout.ms"] = "0"
        all["message.max.bytes"] = "8388608"
        all["linger.ms"] = "5"
        all["partitioner"] = "murmur2_random"
        all["queue.buffering.max.messages"] = "200000"
        // Dead letters carry whole records: by count alone they could take gigabytes.
        all["queue.buffering.max.kbytes"] = "131072"
        return adding(to: all)
    }

    /// As a role's, for what cannot be had again: all in-sync replicas acknowledge, whatever the operator's properties say.
    func feedbackProducerProperties(clientID: String) -> KafkaProperties {
        var all = producerProperties(clientID: clientID)
        all["acks"] = "all"
        all["request.required.acks"] = nil
        // What gave up would be published again anyway.
        all["message.timeout.ms"] = "0"
        all["delivery.timeout.ms"] = nil
        // A batch is handed over at once, and the next is read when it is acknowledged.
        all["linger.ms"] = "1"
        all["queue.buffering.max.ms"] = nil
        return all
    }

    /// What tools and checks at start are made with.
    func adminProperties(clientID: String) -> KafkaProperties {
        adding(to: common(clientID: clientID))
    }

    private func common(clientID: String) -> KafkaProperties {
        var all = KafkaProperties()
        all["bootstrap.servers"] = brokers
        all["client.id"] = clientID
        return all
    }

    private func adding(to properties: KafkaProperties) -> KafkaProperties {
        var all = properties
        for property in self.properties { all[property.name] = property.value }
        return all
    }
}
