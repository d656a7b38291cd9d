import APNsProtocol
import Logging
import PipelineCore

/// The meaning of answers for the topic as it is now.
extension StreamLane {
    /// - Parameters:
    ///   - verdict: by the table, and by the history of connection and provider token.
    ///   - connections: with the connection that the answer came on.
    func judge(
        _ verdict: ProviderVerdict,
        of ticket: StreamTicket,
        _ answer: ProviderAnswer?,
        by connections: CredentialConnections?
    ) -> ProviderVerdict {
        if verdict.isAboutProvider, isOutdated(connections, for: ticket) { return .reconnect }
        switch verdict {
        case .topicRefused: return judgeTopic(of: ticket, answer)
        // A broadcast has no token to blame.
        case .tokenDead where isBroadcast(ticket), .tokenRefused where isBroadcast(ticket): return .rejected
        // It waits with the others instead of being lost to a gateway that may be wrong.
        case .tokenRefused where isDoubted: return .reconnect
        default: return verdict
        }
    }

    /// The notification would have another credential by now: a refusal of the former one says nothing of that.
    private func isOutdated(_ connections: CredentialConnections?, for ticket: StreamTicket) -> Bool {
        queue.place(of: ticket) != nil && connections !== self.connections(at: ticket.slot)
    }

    /// The notification of a ticket is for a channel.
    private func isBroadcast(_ ticket: StreamTicket) -> Bool {
        guard queue.place(of: ticket) != nil else { return false }
        return contents[Int(queue.content(at: ticket.slot))]?.broadcastPath != nil
    }

    /// The gateway calls too many tokens invalid, and the answers of this shard are no probe.
    private var isDoubted: Bool {
        switch topic.health.state {
        case .stopped(.tokensDoubted, _): true
        case .probing(.tokensDoubted, _, _): topic.flow.sending != .probing
        default: false
        }
    }

    /// Judges the refusal of a request's topic by the others of the app, in all shards. A broadcast is for the bundle
    /// itself, and has the checksum of its channel's id.
    private func judgeTopic(of ticket: StreamTicket, _ answer: ProviderAnswer?) -> ProviderVerdict {
        guard queue.place(of: ticket) != nil, let content = contents[Int(queue.content(at: ticket.slot))] else {
            return .topicRefused
        }
        // Acceptances that were read before end the row.
        settleConfirmed()
        let (reference, checksum) = (queue.reference(at: ticket.slot), queue.checksum(at: ticket.slot))
        let suffix = content.credentialType.topicSuffix
        let judges = suffix.isEmpty ? sources.own.map { sources.pushTypes(of: $0).map(\.topicSuffix) } ?? [] : nil
        switch topic.health.change({ $0.topicRefused(suffix, reference, checksum: checksum, judges: judges) }) {
        case .goesAgain: return .topicRefused
        case .doesNotWork: return .doesNotWork(.topic)
        case .rejected(let isNews):
            guard isNews else { return .rejected }
            let credential = connections(at: ticket.slot)?.identity.credential.name ?? "none"
            let metadata: Logger.Metadata = [
                "app": .string(topic.bundleID), "environment": .string(topic.environment),
                "topic": .string(topic.bundleID + suffix), "credential": .string(credential),
                "reason": .string(answer?.reason?.rawValue ?? ""),
            ]
            topics.logger.warning("topic of an app is refused; requests for it are rejected", metadata: metadata)
            return .rejected
        }
    }

    /// The suffixes of the topics to which notifications went, each once in a row. That of a broadcast is empty.
    func topicSuffixes(of slots: [Int]) -> [String] {
        guard !sources.suffixed.isEmpty else { return [""] }
        var suffixes: [String] = []
        var last: UInt32?
        for slot in slots where queue.content(at: slot) != last {
            last = queue.content(at: slot)
            guard let suffix = contents[Int(queue.content(at: slot))]?.credentialType.topicSuffix else { continue }
            if suffixes.last != suffix { suffixes.append(suffix) }
        }
        return suffixes
    }
}

extension ProviderVerdict {
    /// The credential is to blame, or what its connection was opened with.
    fileprivate var isAboutProvider: Bool {
        switch self {
        case .topicRefused, .doesNotWork, .reconnectOnce: true
        default: false
        }
    }
}
