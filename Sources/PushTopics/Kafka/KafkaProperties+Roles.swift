import BelfrySupport
import KafkaClient

extension KafkaSettings {
    /// Prefetch of one consumer, KiB. Its partitions share one queue, and the client of this version measures that
    /// queue, so this is a budget for all of them; a fetch under way may exceed it by its size.
    private static let prefetchKilobytes = 64 * 1024

    /// Properties of a role's consumer; the operator's properties come last and win. Those on which promises rest are
    /// refused when the configuration is read (`KafkaPromise`).
    ///
    /// The role alone commits offsets, with metadata. An offset out of range is an error to be noticed, never a silent
    /// reset; a partition without a commit starts at its beginning, which the role requests itself.
    package func consumerProperties(clientID: String) -> KafkaProperties {
        var all = common(clientID: clientID)
        all["enable.auto.commit"] = "false"
        all["enable.auto.offset.store"] = "false"
        all["auto.offset.reset"] = "error"
        all["isolation.level"] = Self.isolation
        all["partition.assignment.strategy"] = "range"
        all["queued.max.messages.kbytes"] = "\(Self.prefetchKilobytes)"
        // The budget in bytes decides: at this count the client does not fetch again for up to a second.
        all["queued.min.messages"] = "1000000"
        all["fetch.wait.max.ms"] = "100"
        // A heartbeat reveals a rebalance; the sooner, the fewer notifications are sent twice while commits are
        // refused.
        all["heartbeat.interval.ms"] = "1000"
        all = adding(to: all)
        // The name of one member in its group: the operator's value names the process, which may have several members.
        if let process = all[Self.memberName] { all[Self.memberName] = "\(process)-\(clientID)" }
        return all
    }

    private static let memberName = "group.instance.id"
    /// Records of aborted transactions stay unread. The catch-up reader sees what the consumer sees.
    private static let isolation = "read_committed"

    /// Properties of a reader beside a role's consumer. No group; little prefetch, because it rarely lags far.
    ///
    /// - Parameter waitMilliseconds: the broker's longest wait in a fetch that finds nothing new.
    package func readerProperties(clientID: String, waitMilliseconds: Int) -> KafkaProperties {
        var all = common(clientID: clientID)
        all["isolation.level"] = Self.isolation
        all["queued.max.messages.kbytes"] = "4096"
        all["fetch.wait.max.ms"] = "\(waitMilliseconds)"
        return adding(to: all)
    }

    /// Properties of a role's producer. Every message is acknowledged by all in-sync replicas, in order, once, and
    /// retried for as long as necessary.
    package func producerProperties(clientID: String) -> KafkaProperties {
        var all = common(clientID: clientID).merging(.reliableProducer)
        all["message.timeout.ms"] = "0"
        all["queue.buffering.max.messages"] = "200000"
        // Dead letters carry whole records: limited by count alone they could take gigabytes.
        all["queue.buffering.max.kbytes"] = "131072"
        return adding(to: all)
    }

    /// Properties of a producer for irreplaceable messages. All in-sync replicas acknowledge, whatever the operator's
    /// properties say.
    package func feedbackProducerProperties(clientID: String) -> KafkaProperties {
        var all = producerProperties(clientID: clientID)
        all["acks"] = "all"
        all["request.required.acks"] = nil
        // A message that timed out would be published again anyway.
        all["message.timeout.ms"] = "0"
        all["delivery.timeout.ms"] = nil
        // A batch is handed over at once, and the next one is read after its acknowledgement.
        all["linger.ms"] = "1"
        all["queue.buffering.max.ms"] = nil
        return all
    }

    /// Properties of the clients for tools and for checks at start.
    package func adminProperties(clientID: String) -> KafkaProperties {
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
