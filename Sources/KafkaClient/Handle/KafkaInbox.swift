import CRdKafka

/// The callbacks of librdkafka from serving a queue, kept until that call returns.
///
/// So nothing of the application runs inside librdkafka: a handler may call anything, even close the client. All
/// callbacks come on the thread that serves the queue; librdkafka's own threads never get here (`log.queue` is set).
final class KafkaInbox {
    enum Report {
        case assigned([KafkaTopicPartition])
        case revoked([KafkaTopicPartition], lost: Bool)
        case rebalanceFailed(KafkaError)
        case error(KafkaError)
        case log(KafkaLogLine)
    }

    /// The broker's answer to a commit.
    struct CommitAnswer {
        var number: UInt
        /// Nil: the positions are stored.
        var error: KafkaError?
    }

    private(set) var reports: [Report] = []
    private var commitAnswers: [CommitAnswer] = []
    private var deliveries: [KafkaDelivery] = []
    /// The number of `deliveries` already taken. The array is emptied in one go, so that its memory is reused.
    private var takenDeliveries = 0

    func takeReport() -> Report? {
        reports.isEmpty ? nil : reports.removeFirst()
    }

    func takeCommitAnswer() -> CommitAnswer? {
        commitAnswers.isEmpty ? nil : commitAnswers.removeFirst()
    }

    /// Takes the rebalances alone, for closing; the rest stays.
    func takeRebalances() -> [KafkaRebalance] {
        var rebalances: [KafkaRebalance] = []
        reports.removeAll { report in
            switch report {
            case .assigned(let partitions): rebalances.append(.assign(partitions))
            case .revoked(let partitions, _): rebalances.append(.revoke(partitions))
            case .rebalanceFailed, .error, .log: return false
            }
            return true
        }
        return rebalances
    }

    /// Reports the permanent failure of a client that told it in place of a message.
    func noteFailure(of client: OpaquePointer) {
        reports.append(.error(Self.permanentError(of: client)))
    }

    func takeDelivery() -> KafkaDelivery? {
        guard takenDeliveries < deliveries.count else {
            deliveries.removeAll(keepingCapacity: true)
            takenDeliveries = 0
            return nil
        }
        defer { takenDeliveries += 1 }
        return deliveries[takenDeliveries]
    }

    private static func from(_ opaque: UnsafeMutableRawPointer?) -> KafkaInbox? {
        opaque.map { Unmanaged<KafkaInbox>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The C callbacks. Each only copies its arguments.
extension KafkaInbox {
    typealias RebalanceCallback =
        @convention(c) (
            OpaquePointer?, rd_kafka_resp_err_t, UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?,
            UnsafeMutableRawPointer?
        ) -> Void

    static let onRebalance: RebalanceCallback = { client, code, partitions, opaque in
        guard let inbox = from(opaque) else { return }
        let places = KafkaPartitionList.places(in: partitions)
        switch code {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            inbox.reports.append(.assigned(places))
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            inbox.reports.append(.revoked(places, lost: rd_kafka_assignment_lost(client) != 0))
        default:
            // Required by librdkafka before it can go on.
            rd_kafka_assign(client, nil)
            inbox.reports.append(.rebalanceFailed(KafkaError(code, "rebalance")))
        }
    }

    static let onCommit: RebalanceCallback = { _, code, partitions, opaque in
        // The opaque of a commit is not the inbox: see `KafkaCommitTicket`.
        guard let opaque else { return }
        let ticket = Unmanaged<KafkaCommitTicket>.fromOpaque(opaque).takeUnretainedValue()
        let failure = KafkaPartitionList.failure(code, in: partitions, "commit")
        ticket.inbox.commitAnswers.append(CommitAnswer(number: ticket.number, error: failure))
    }

    static let onDelivery:
        @convention(c) (OpaquePointer?, UnsafePointer<rd_kafka_message_t>?, UnsafeMutableRawPointer?) -> Void = {
            _,
            message,
            opaque in
            guard let inbox = from(opaque), let message else { return }
            inbox.deliveries.append(KafkaDelivery(message))
        }

    static let onError: @convention(c) (OpaquePointer?, CInt, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void =
        {
            client,
            code,
            reason,
            opaque in
            guard let inbox = from(opaque) else { return }
            if code == RD_KAFKA_RESP_ERR__FATAL.rawValue {
                inbox.reports.append(.error(permanentError(of: client)))
            } else {
                let detail = reason.map { String(cString: $0) }
                let error = KafkaError(rd_kafka_resp_err_t(rawValue: code), "Kafka client", detail: detail)
                inbox.reports.append(.error(error))
            }
        }

    /// The cause of a client's permanent failure, as the client keeps it.
    private static func permanentError(of client: OpaquePointer?) -> KafkaError {
        KafkaConfiguration.withErrorText { text, size in
            let cause = rd_kafka_fatal_error(client, text, size)
            return KafkaError(cause, "Kafka client", detail: String(cString: text)).asFatal
        }
    }

    static let onLog: @convention(c) (OpaquePointer?, CInt, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Void = {
        client,
        level,
        facility,
        text in
        // Nil while a client is being made; errors then are in the error of `rd_kafka_new`.
        guard let client, let inbox = from(rd_kafka_opaque(client)) else { return }
        let line = KafkaLogLine(
            level: level,
            facility: facility.map { String(cString: $0) } ?? "",
            message: text.map { String(cString: $0) } ?? ""
        )
        inbox.reports.append(.log(line))
    }
}

/// A commit under way, which its callback answers.
///
/// librdkafka calls back once, or never when the queue is gone; so the owner keeps the ticket, librdkafka does not.
final class KafkaCommitTicket {
    let number: UInt
    let inbox: KafkaInbox

    init(number: UInt, inbox: KafkaInbox) {
        self.number = number
        self.inbox = inbox
    }
}

extension KafkaError {
    fileprivate var asFatal: KafkaError {
        KafkaError(code: code, name: name, message: message, isRetriable: false, isFatal: true)
    }
}
