import Foundation
import KafkaClient
import LocalPipeline
import PushSchemas
import PushTopics
import SwiftProtobuf

/// Publishes at a rate and follows the requests of all lanes and push.outcomes, on one thread of its own.
///
/// The producer is held back by what has no outcome yet, so that no backlog outgrows the broker's memory. What was read
/// of them, and committed of the requests, the broker is told to forget: it holds everything in memory and writes it
/// down at each stop.
final class Pump {
    struct Settings: Sendable {
        var brokers: String
        var brokerPort: Int
        /// Of each lane.
        var partitions: Int
        /// Notifications per second.
        var rate: Int
        /// Nil: all is published by the rate.
        var campaigns: CampaignPlan?
        var quotas = UrgentQuotas()
    }

    private let settings: Settings
    private let board: Board
    private let producer: KafkaProducer
    private let consumer: KafkaConsumer
    private let admin: KafkaAdmin
    private let names = TopicNames()
    private var books: ChaosBooks
    private var unacknowledged = 0
    private var witness = LogWitness()
    private var publishedSince: ContinuousClock.Instant?
    /// Of the notifications handed over, those that the rate is not measured by.
    private var credit = 0
    private var nextTrim = ContinuousClock.now
    private var nextCampaign = ContinuousClock.now

    /// Notifications without an outcome beyond which the producer waits.
    private static let lagLimit = 1_000_000
    private static let trimInterval = Duration.seconds(2)
    /// Marks a registration in the broker's answer; the others are ranks of lanes.
    private static let registration = UInt64(RequestLane.allCases.count)
    private static let registeredAt: Int64 = 1_700_000_000

    init(_ settings: Settings, stream: RequestStream, board: Board) throws {
        self.settings = settings
        self.board = board
        books = ChaosBooks(stream: stream, partitions: settings.partitions, quotas: settings.quotas)
        var common = KafkaProperties()
        common["bootstrap.servers"] = settings.brokers
        admin = try KafkaAdmin(properties: common)
        var produce = common
        // One request at a time keeps the order when one is repeated; the broker forgets idempotent producers when it
        // stops.
        produce["max.in.flight.requests.per.connection"] = "1"
        produce["acks"] = "all"
        produce["message.timeout.ms"] = "0"
        produce["message.max.bytes"] = "8388608"
        produce["linger.ms"] = "5"
        producer = try KafkaProducer(properties: produce)
        var consume = common
        consume["auto.offset.reset"] = "error"
        consume["fetch.wait.max.ms"] = "50"
        consume["session.timeout.ms"] = "6000"
        consume["heartbeat.interval.ms"] = "1000"
        // The broker ignores limits of a fetch.
        consume["receive.message.max.bytes"] = "1000000000"
        consumer = try KafkaConsumer(
            properties: consume,
            group: "belfry-chaos",
            topics: names.allRequests + [names.outcomes]
        )
        producer.onDelivery = { [unowned self] mark, error, partition, offset in
            unacknowledged -= 1
            if let error { return fail("a record was not taken: \(error)") }
            let topic = mark == Self.registration ? names.registrations : names.allRequests[Int(mark)]
            let place = KafkaTopicPartition(topic: topic, partition: partition)
            if let complaint = witness.acknowledged(offset, in: place) { fail(complaint) }
        }
        consumer.onAssigned = { [unowned self] places in
            do throws(KafkaError) {
                try consumer.completeAssign(places.map { KafkaPartitionOffset($0, offset: witness.seen[$0] ?? 0) })
                board.change { $0.isAssigned = true }
            } catch {
                fail("the outcomes cannot be followed: \(error)")
            }
        }
        consumer.onRevoked = { [unowned self] _, _ in try? consumer.completeRevoke() }
    }

    /// Works until the board says that it is finished, or something fails.
    func run() {
        while true {
            let state = board.read()
            if case .finished = state.phase { break }
            if state.isAborted || state.failure != nil { break }
            producer.poll()
            if case .publishing = state.phase, !state.isHeldBack { publishDue() }
            take()
            if state.isBrokerUp, nextTrim <= .now {
                nextTrim = .now + Self.trimInterval
                trim()
            }
            tell()
        }
        consumer.close()
        producer.close()
        admin.close()
        board.change { $0.result = books }
    }

    private func fail(_ text: String) {
        board.change { if $0.failure == nil { $0.failure = text } }
    }

    private func tell() {
        let isDrained = unacknowledged == 0 && books.recordsInLog == books.recordsMade && books.isSettled
        if isDrained, case .draining = board.read().phase { books.close() }
        board.change {
            $0.handedOver = books.handedOver
            $0.published = books.published
            $0.outcomes = books.outcomes
            $0.isAcknowledged = unacknowledged == 0
            $0.seen = witness.seen
            $0.isDrained = isDrained
        }
    }

    // MARK: Publishing

    /// Publishes what the rate asks for up to now. What could not be published in time is not made up for.
    private func publishDue() {
        let now = ContinuousClock.now
        if let campaigns = settings.campaigns, let count = campaigns.batch(after: books.recordsMade) {
            guard nextCampaign <= now, books.handedOver - books.outcomes < Self.lagLimit else { return }
            nextCampaign = now + campaigns.interval
            for _ in 0..<count { publishNext() }
            return
        }
        guard let since = publishedSince else {
            publishedSince = now
            credit = books.handedOver
            return
        }
        let elapsed = since.duration(to: now) / .seconds(1)
        let due = Int(elapsed * Double(settings.rate)) + credit
        while books.handedOver < due, books.handedOver - books.outcomes < Self.lagLimit {
            publishNext()
        }
        guard elapsed > 1 else { return }
        publishedSince = now
        credit = books.handedOver
    }

    private func publishNext() {
        let record = books.nextRecord()
        do {
            try publish(record)
        } catch {
            fail("a record cannot be published: \(error)")
        }
    }

    private func publish(_ record: RequestStream.Record) throws {
        let tokens = books.stream.packedTokens(of: record)
        let key = Array(books.stream.key(of: record).utf8)
        var request = PushSendRequest()
        request.requestID = "\(record.number)"
        request.payloadJson = Self.payload(record.number)
        request.expiration = Self.tomorrow
        request.packedTokens = Data(tokens)
        let lane = record.lane
        try produce(names.requests(lane), key: key, value: try request.serializedBytes(), mark: UInt64(lane.rank))
        // The registrar has something to do, too.
        var registration = PushRegistration()
        registration.token = .with { $0.raw = Data(tokens.prefix(SendRequestView.packedTokenBytes)) }
        registration.registeredAt = Self.registeredAt
        try produce(names.registrations, key: key, value: try registration.serializedBytes(), mark: Self.registration)
    }

    private static func payload(_ number: UInt32) -> String {
        #"{"aps":{"alert":"Edition \#(number)","badge":1},"n":\#(number)}"#
    }

    /// The frame of a notification as the gateway gets it: command and length, then token, payload, identifier,
    /// expiration and priority, each with three bytes in front; the payload as long as it can be.
    static let largestFrameBytes = 5 + 5 * 3 + SendRequestView.packedTokenBytes + payload(.max).utf8.count + 4 + 4 + 1

    private static let tomorrow = Int64(Date().timeIntervalSince1970) + 86_400

    private func produce(_ topic: String, key: [UInt8], value: [UInt8], mark: UInt64) throws {
        try producer.produce(topic: topic, key: key, value: value, opaque: mark)
        unacknowledged += 1
    }

    // MARK: Following

    private func take() {
        // Waits a little for the first message: this is where the thread rests.
        guard let batch = consumer.consumeBatch(max: 2000, timeoutMilliseconds: 2) else { return }
        for index in 0..<batch.count {
            let message = batch[index]
            if message.isError {
                if let error = message.error, !error.isPartitionEnd { fail("reading the broker's log: \(error)") }
                continue
            }
            let place = KafkaTopicPartition(topic: message.topic, partition: message.partition)
            if let complaint = witness.read(message.offset, of: place) { fail(complaint) }
            if let partition = RequestPartition(place) {
                noteRequest(message, of: partition)
            } else {
                noteOutcome(message)
            }
        }
        batch.release()
    }

    private func noteRequest(_ message: KafkaMessageView, of partition: RequestPartition) {
        guard
            let request = try? RequestDecoding.decode(PushSendRequest.self, from: message.value, as: .protobuf),
            let number = UInt32(request.requestID)
        else { return fail("a record in \(partition) is not ours") }
        guard let origin = RequestPlace(originOf: message, names) else {
            return books.noteRecord(number: number, partition: partition, offset: message.offset)
        }
        let now = CommitWatch.now
        let created = message.timestampMilliseconds.map { UInt32(clamping: $0 / 1000) } ?? now
        let times = MovedRecords.Times(created: min(created, now), met: now)
        books.noteCopy(number: number, at: RequestPlace(partition, message.offset), from: origin, times)
    }

    private func noteOutcome(_ message: KafkaMessageView) {
        guard let outcome = try? RequestDecoding.decode(PushOutcome.self, from: message.value, as: .protobuf) else {
            return fail("a message in \(names.outcomes) is no outcome")
        }
        books.note(outcome, from: RequestPlace(originOf: message, names), at: CommitWatch.now)
    }

    // MARK: Forgetting

    private func trim() {
        do {
            let connection = try LoopbackSocket(port: settings.brokerPort)
            let numbers = 0..<Int32(settings.partitions)
            var due: [String: [(partition: Int32, offset: Int64)]] = [:]
            due[names.outcomes] = numbers.compactMap { number in
                let place = KafkaTopicPartition(topic: names.outcomes, partition: number)
                return LogTrim.outcomes(seen: witness.seen[place] ?? 0).map { (partition: number, offset: $0) }
            }
            for lane in RequestLane.allCases {
                let places = numbers.map { RequestPartition(lane, $0).place }
                let committed = try admin.committed(group: ChaosRole.workers(lane), places, timeoutMilliseconds: 1000)
                due[names.requests(lane)] = committed.compactMap { position in
                    let seen = witness.seen[position.place] ?? 0
                    return LogTrim.requests(committed: position.offset, position.metadata, seen: seen)
                        .map { (partition: position.partition, offset: $0) }
                }
            }
            for (topic, before) in due where !before.isEmpty {
                _ = try connection.ask(KafkaWire.deleteRecords(topic, before: before))
            }
        } catch {
            // A broker that is busy or away keeps more for a while.
            say("the broker was not told what to forget: \(error)")
        }
    }
}
