import Foundation
import KafkaClient
import PushSchemas
import PushTopics

/// Publishes registrations at a rate and follows push.feedback, on one thread of its own.
///
/// Of both topics the broker is told to forget what was applied, and would not be applied again after a fail-over of
/// Redis.
final class RegistrationPump {
    private let board: Board
    private let watch: ApplierWatch
    private let brokerPort: Int
    private let producer: KafkaProducer
    private let reader: KafkaReader
    private let names = TopicNames()
    private var books: TokenBooks
    private var unacknowledged = 0
    private var pace = Pace(perSecond: RegistrationStream.rate)
    private let start = ContinuousClock.now
    /// Of push.feedback: the offset after the last one seen.
    private var seen: [KafkaTopicPartition: Int64] = [:]
    private var nextTrim = ContinuousClock.now

    /// Registrations without an acknowledgement beyond which the producer waits.
    private static let unacknowledgedLimit = 10_000
    private static let trimInterval = Duration.seconds(2)
    /// Time that the thread rests at a time.
    private static let restMilliseconds: Int32 = 5

    init(brokers: String, brokerPort: Int, stream: RegistrationStream, watch: ApplierWatch, board: Board) throws {
        self.board = board
        self.watch = watch
        self.brokerPort = brokerPort
        books = TokenBooks(stream: stream)
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
        producer.onDelivery = { [unowned self] number, error, _, _ in
            unacknowledged -= 1
            if let error { return fail("a registration was not taken: \(error)") }
            books.noteAcknowledged(UInt32(truncatingIfNeeded: number))
        }
    }

    /// Works until the board says that it is finished, or something fails.
    func run() {
        begin()
        while true {
            let state = board.read()
            if case .finished = state.phase { break }
            if state.isAborted || state.failure != nil { break }
            if case .publishing = state.phase, !state.isHeldBack { publishDue() }
            // Waits a little for the first acknowledgement: this is where the thread rests.
            producer.poll(timeoutMilliseconds: Self.restMilliseconds)
            for place in seen.keys.sorted() { follow(place) }
            if state.isBrokerUp, nextTrim <= .now {
                nextTrim = .now + Self.trimInterval
                trim()
            }
            tell()
        }
        reader.close()
        producer.close()
        board.change { $0.tokens = books }
    }

    private func begin() {
        do throws(KafkaError) {
            for place in ApplierWatch.places(of: .harvester) {
                try reader.begin(place, at: 0)
                seen[place] = 0
            }
        } catch {
            fail("push.feedback cannot be followed: \(error)")
        }
    }

    private func fail(_ text: String) {
        board.change { if $0.failure == nil { $0.failure = text } }
    }

    private func tell() {
        board.change {
            $0.registrations = books.registrations
            $0.feedback = books.feedback
            $0.feedbackSeen = seen
            $0.areRegistrationsAcknowledged = unacknowledged == 0
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
                return fail("a registration cannot be published: \(error)")
            }
        }
    }

    // MARK: Following

    private func follow(_ place: KafkaTopicPartition) {
        guard let batch = reader.read(place, max: 2000) else { return }
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if !error.isPartitionEnd { fail("reading \(place): \(error)") }
                continue
            }
            let expected = seen[place] ?? 0
            guard message.offset >= expected else { continue }
            if message.offset > expected { fail("\(place): \(expected) is followed by \(message.offset)") }
            seen[place] = message.offset + 1
            note(message)
        }
        batch.release()
    }

    private func note(_ message: KafkaMessageView) {
        guard
            let tuple = try? RequestDecoding.decode(PushFeedbackTuple.self, from: message.value, as: .protobuf),
            let key = try? RecordKey(parsing: message.key)
        else { return fail("a record in \(names.feedback) is no tuple") }
        books.noteFeedback(
            Array(tuple.token),
            bundleID: key.bundleID,
            time: tuple.timestamp,
            partition: message.partition,
            offset: message.offset
        )
    }

    // MARK: Forgetting

    private func trim() {
        do {
            for (place, position) in watch.committed.sorted(by: { $0.key < $1.key }) {
                guard let applied = LogTrim.applied(committed: position.offset, position.metadata) else { continue }
                // Of push.feedback this program has to have read it as well.
                let before = min(applied, seen[place] ?? applied)
                let connection = try LoopbackSocket(port: brokerPort)
                _ = try connection.ask(
                    KafkaWire.deleteRecords(place.topic, before: [(partition: place.partition, offset: before)])
                )
            }
        } catch {
            // A broker that is busy or away keeps more for a while.
            say("the broker was not told what to forget: \(error)")
        }
    }
}
