import KafkaClient
import NIOCore

/// Hands the records of requests over to Kafka's client in their order, waits while its queue is full, and gathers the
/// acknowledgements. Bound to the producer's event loop.
final class DeliveryDesk {
    /// A request on its way.
    private final class Publication {
        let records: [CutRequest.Record]
        let handedOver: AwaitedResult<Void>
        let delivered: AwaitedResult<DeliveryResult>
        /// Index of the next record to hand over.
        var next = 0
        /// By record; nil: not known yet.
        var ends: [RecordEnd?]
        var left: Int

        init(
            _ records: [CutRequest.Record],
            _ handedOver: AwaitedResult<Void>,
            _ delivered: AwaitedResult<DeliveryResult>
        ) {
            self.records = records
            self.handedOver = handedOver
            self.delivered = delivered
            ends = Array(repeating: nil, count: records.count)
            left = records.count
        }
    }

    private enum RecordEnd {
        case stored(partition: Int32, offset: Int64?)
        case failed(String)
    }

    private let producer: KafkaProducer
    private let topic: String
    private let onNotice: @Sendable (String) -> Void
    private let onFull: @Sendable () -> Void
    /// In the order of their coming; the first has records that are not handed over.
    private var waiting: [Publication] = []
    /// By the number of the record.
    private var underWay: [UInt64: (publication: Publication, index: Int)] = [:]
    private var lastNumber: UInt64 = 0
    private var closing: AwaitedResult<Void>?
    private var isClosed = false

    /// - Parameter onFull: called when records begin to wait for room.
    init(
        _ properties: KafkaProperties,
        topic: String,
        on eventLoop: any EventLoop,
        onNotice: @escaping @Sendable (String) -> Void,
        onFull: @escaping @Sendable () -> Void
    ) throws(KafkaError) {
        producer = try KafkaProducer(properties: properties)
        self.topic = topic
        self.onNotice = onNotice
        self.onFull = onFull
        do throws(KafkaError) {
            try producer.start(on: eventLoop) { [unowned self] in turn() }
        } catch {
            producer.close(flushMilliseconds: 0)
            throw error
        }
        producer.onDelivery = { [unowned self] in end($0, $1, partition: $2, offset: $3) }
        producer.onError = { onNotice("\($0)") }
        producer.onLog = { onNotice($0.message) }
    }

    /// Takes a request; one result comes when all its records are in the client's queue, the other when all have
    /// their ends.
    func takeRequest(
        _ request: CutRequest,
        handedOver: AwaitedResult<Void>,
        delivered: AwaitedResult<DeliveryResult>
    ) {
        guard closing == nil, !isClosed else {
            handedOver.fail(.closed)
            return delivered.fail(.closed)
        }
        waiting.append(Publication(request.records, handedOver, delivered))
        if waiting.count == 1 { handOver() }
    }

    /// Closes when everything taken before has its end. Called once at most.
    func close(_ closed: AwaitedResult<Void>) {
        precondition(closing == nil && !isClosed, "the producer remembers that it closes")
        closing = closed
        closeIfDone()
    }

    /// Closes at once; what was not acknowledged may or may not be published.
    func abandon() {
        guard !isClosed else { return }
        isClosed = true
        let left = waiting
        waiting = []
        producer.close(flushMilliseconds: 0)
        for publication in left {
            publication.handedOver.fail(.closed)
            publication.delivered.fail(.closed)
        }
    }

    private func turn() {
        producer.poll()
        handOver()
        closeIfDone()
    }

    private func handOver() {
        while let publication = waiting.first {
            while publication.next < publication.records.count {
                guard produce(publication, publication.next) else { return onFull() }
                publication.next += 1
            }
            waiting.removeFirst()
            publication.handedOver.succeed(())
        }
    }

    /// False: there is no room now.
    private func produce(_ publication: Publication, _ index: Int) -> Bool {
        let record = publication.records[index].record
        lastNumber += 1
        underWay[lastNumber] = (publication, index)
        do throws(KafkaError) {
            try producer.produce(record, to: topic, opaque: lastNumber)
        } catch {
            underWay[lastNumber] = nil
            guard !error.isQueueFull else { return false }
            settle(publication, index, .failed(Self.reason(error)))
        }
        return true
    }

    private func end(_ number: UInt64, _ error: KafkaError?, partition: Int32, offset: Int64) {
        guard let (publication, index) = underWay.removeValue(forKey: number) else {
            preconditionFailure("every record is reported on once")
        }
        let end: RecordEnd =
            error.map { .failed(Self.reason($0)) } ?? .stored(partition: partition, offset: offset >= 0 ? offset : nil)
        settle(publication, index, end)
    }

    /// The error in words; of a Kafka topic that is missing, with the cure.
    static func reason(_ error: KafkaError) -> String {
        error.isUnknownTopicOrPartition ? "\(error); belfry topics create makes it" : "\(error)"
    }

    private func settle(_ publication: Publication, _ index: Int, _ end: RecordEnd) {
        publication.ends[index] = end
        publication.left -= 1
        guard publication.left == 0 else { return }
        var result = DeliveryResult()
        for (record, end) in zip(publication.records, publication.ends) {
            switch end {
            case .stored(let partition, let offset):
                result.published.append(
                    PublishedRecord(
                        key: record.record.key,
                        partition: partition,
                        offset: offset,
                        tokens: record.tokens
                    )
                )
            case .failed(let reason):
                result.failedTokens += record.tokens
                if result.reason == nil { result.reason = reason }
            case nil:
                preconditionFailure("none is left")
            }
        }
        publication.delivered.succeed(result)
    }

    private func closeIfDone() {
        guard let closing, !isClosed, waiting.isEmpty, underWay.isEmpty else { return }
        isClosed = true
        producer.close()
        closing.succeed(())
    }
}

/// The ends of all records of one request.
struct DeliveryResult: Sendable {
    var published: [PublishedRecord] = []
    var failedTokens: [Int] = []
    /// Nil: all are published.
    var reason: String?
}
