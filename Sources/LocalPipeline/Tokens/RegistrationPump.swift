import KafkaClient
import PushSchemas
import PushTopics

/// Publishes registrations at a rate and follows push.feedback, on one thread of its own.
package final class RegistrationPump {
    /// Asked of a pump.
    package enum Orders: Sendable {
        /// Follow, and publish nothing.
        case follow
        case publish
        case end
    }

    /// The work done so far.
    package struct Progress: Sendable {
        /// Acknowledged by the broker.
        package var registrations: Int
        /// The broker has acknowledged every registration handed over.
        package var isAcknowledged: Bool
        /// Tuples met in push.feedback.
        package var feedback: Int
        /// Of push.feedback: the offset after the last one seen.
        package var seen: [KafkaTopicPartition: Int64]
    }

    /// The rest of the run, as its pump sees it. Called on the pump's thread.
    package struct Desk {
        package var orders: () -> Orders
        /// Called often, whatever the orders.
        package var tell: (Progress) -> Void
        /// In words for the person who started the run.
        package var fail: (String) -> Void

        package init(
            orders: @escaping () -> Orders,
            tell: @escaping (Progress) -> Void,
            fail: @escaping (String) -> Void
        ) {
            self.orders = orders
            self.tell = tell
            self.fail = fail
        }
    }

    private let desk: Desk
    private let producer: KafkaProducer
    private let reader: KafkaReader
    private let names = TopicNames()
    private var books: TokenBooks
    private var unacknowledged = 0
    private var pace = StreamPace(perSecond: RegistrationStream.rate)
    private let start = ContinuousClock.now
    private var witness: LogWitness

    /// Registrations without an acknowledgement beyond which the producer waits.
    private static let unacknowledgedLimit = 10_000
    /// Time that the thread rests at a time.
    private static let restMilliseconds: Int32 = 5

    /// - Parameter feedback: the partitions of push.feedback.
    package init(brokers: String, stream: RegistrationStream, feedback: [KafkaTopicPartition], desk: Desk) throws {
        self.desk = desk
        books = TokenBooks(stream: stream)
        witness = LogWitness(feedback)
        var produce = KafkaProperties()
        produce["bootstrap.servers"] = brokers
        produce["acks"] = "all"
        produce["message.timeout.ms"] = "0"
        produce["linger.ms"] = "5"
        producer = try KafkaProducer(properties: produce)
        var read = KafkaProperties()
        read["bootstrap.servers"] = brokers
        read["fetch.wait.max.ms"] = "50"
        // The broker ignores limits of a fetch.
        read["receive.message.max.bytes"] = "1000000000"
        do throws(KafkaError) {
            reader = try KafkaReader(properties: read)
        } catch {
            producer.close()
            throw error
        }
        producer.onDelivery = { [unowned self] number, error, partition, offset in
            unacknowledged -= 1
            if let error { return self.desk.fail("a registration was not taken: \(error)") }
            let place = KafkaTopicPartition(topic: names.registrations, partition: partition)
            if let complaint = witness.acknowledged(offset, in: place) { self.desk.fail(complaint) }
            books.noteAcknowledged(UInt32(truncatingIfNeeded: number))
        }
    }

    /// Works until it is told to end.
    ///
    /// - Returns: the books.
    package func run() -> TokenBooks {
        begin()
        working: while true {
            switch desk.orders() {
            case .end: break working
            case .publish: publishDue()
            case .follow: break
            }
            // Waits a little for the first acknowledgement: this is where the thread rests.
            producer.poll(timeoutMilliseconds: Self.restMilliseconds)
            for place in witness.seen.keys.sorted() { follow(place) }
            desk.tell(
                Progress(
                    registrations: books.registrations,
                    isAcknowledged: unacknowledged == 0,
                    feedback: books.feedback,
                    seen: witness.seen
                )
            )
        }
        reader.close()
        producer.close()
        return books
    }

    private func begin() {
        do throws(KafkaError) {
            for place in witness.seen.keys.sorted() { try reader.begin(place, at: 0) }
        } catch {
            desk.fail("push.feedback cannot be followed: \(error)")
        }
    }

    private func publishDue() {
        for _ in 0..<pace.due(at: start.duration(to: .now)) {
            guard unacknowledged < Self.unacknowledgedLimit else { return }
            let record = books.nextRegistration()
            do {
                try producer.produce(
                    topic: names.registrations,
                    key: Array(books.stream.topics[record.token.topic].utf8),
                    value: try books.stream.value(of: record),
                    opaque: UInt64(record.number)
                )
                unacknowledged += 1
            } catch {
                return desk.fail("a registration cannot be published: \(error)")
            }
        }
    }

    // MARK: Following

    private func follow(_ place: KafkaTopicPartition) {
        guard let batch = reader.read(place, max: 2000) else { return }
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if !error.isPartitionEnd { desk.fail("reading \(place): \(error)") }
                continue
            }
            if let complaint = witness.read(message.offset, of: place) { desk.fail(complaint) }
            note(message)
        }
        batch.release()
    }

    private func note(_ message: KafkaMessageView) {
        guard
            let tuple = try? RequestDecoding.decode(PushFeedbackTuple.self, from: message.value, as: .protobuf),
            let key = try? RecordKey(parsing: message.key)
        else { return desk.fail("a record in \(names.feedback) is no tuple") }
        books.noteFeedback(
            Array(tuple.token),
            bundleID: key.bundleID,
            time: tuple.timestamp,
            partition: message.partition,
            offset: message.offset
        )
    }
}
