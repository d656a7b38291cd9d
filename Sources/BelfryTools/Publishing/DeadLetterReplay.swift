import BelfrySupport
import Foundation
import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import SwiftProtobuf

/// A dead letter made into a record of its source's topic again.
///
/// Key and value are those of the source, the lane of a request too; of a request of which some tokens were at fault,
/// only those remain. Two headers tell where it comes from: `replayed-from`, the letter, and `replayed-source`, the
/// record behind it.
struct ReplayedRecord: Sendable {
    var topic: String
    var key: [UInt8]
    var value: [UInt8]
    var headers: [(name: String, value: [UInt8])]

    private static let inherited = [RecordContentType.headerName] + TraceContext.headerNames

    /// - Throws: the letter cannot be replayed, and why.
    init(_ letter: StoredDeadLetter, _ names: TopicNames = TopicNames()) throws(ToolError) {
        topic = letter.sourceTopic
        guard (names.allRequests + [names.registrations, names.feedback]).contains(topic) else {
            throw .refused("\(letter.coordinates): it is not of a Kafka topic that publishers write")
        }
        guard !letter.isCut else { throw .refused("\(letter.coordinates): only the beginning of the record is there") }
        key = letter.key
        value = letter.value
        headers = Self.inherited.compactMap { name in letter.header(name).map { (name, Array($0.utf8)) } }
        headers.append(("replayed-from", Array(letter.coordinates.utf8)))
        headers.append(("replayed-source", Array(letter.source.utf8)))
        guard let tokens = letter.tokens else { return }
        guard let runs = TokenRuns(tokens), let rest = Self.value(of: letter, tokens: runs) else {
            throw .refused("\(letter.coordinates): its tokens cannot be told apart")
        }
        value = rest
    }

    /// The request with some of its tokens; nil: it cannot be read.
    private static func value(of letter: StoredDeadLetter, tokens: TokenRuns) -> [UInt8]? {
        var request: PushSendRequest
        let decoded = letter.value.withUnsafeBytes {
            try? RequestDecoding.decode(PushSendRequest.self, from: $0, as: letter.contentType)
        }
        guard let decoded else { return nil }
        request = decoded
        if !request.packedTokens.isEmpty {
            let bytes = [UInt8](request.packedTokens)
            let width = SendRequestView.packedTokenBytes
            let count = bytes.count / width
            let kept = (0..<count).filter { tokens.contains(UInt32($0)) }
            request.packedTokens = Data(kept.flatMap { bytes[$0 * width..<($0 + 1) * width] })
        } else {
            request.tokens = request.tokens.enumerated().filter { tokens.contains(UInt32($0.offset)) }.map(\.element)
        }
        switch letter.contentType {
        case .protobuf: return try? request.serializedBytes()
        case .json: return try? request.jsonUTF8Bytes()
        }
    }
}

/// `belfry dead-letters replay`: publishes dead letters again. Blocks its thread.
public final class DeadLetterReplay {
    /// The letters to replay, and the pace.
    public struct Order: Sendable {
        public var filter = DeadLetterFilter()
        /// Most records a second; nil: no limit.
        public var rate: Int?
        /// A file that remembers what is done, so that the same command goes on; nil: none.
        public var checkpoint: String?

        public init() {}
    }

    /// The letters that fit.
    public struct Plan: Sendable {
        public var replayable = 0
        /// Sentences about the first of those that cannot be replayed.
        public var refusals: [String] = []
        public var refused = 0
    }

    private let settings: KafkaSettings
    private let names: TopicNames
    private var order: Order
    private let log: DeadLetterReader
    private var done: ReplayCheckpoint
    /// The Kafka topics that letters go back to; nil: ``plan()`` has not looked yet.
    private var topics: Set<String>?

    /// Letters between two looks at the checkpoint.
    private static let chunk = 500
    private static let refusalsTold = 20

    /// - Throws: the brokers cannot be reached, or the checkpoint is of another order.
    public init(_ settings: KafkaSettings, _ order: Order) throws(ToolError) {
        self.settings = settings
        names = TopicNames(settings)
        self.order = order
        let text = ReplayCheckpoint.order(order.filter, brokers: settings.place)
        var begun: ReplayCheckpoint?
        if let path = order.checkpoint { begun = try ReplayCheckpoint.read(path, of: text) }
        done = begun ?? ReplayCheckpoint(order: text, since: order.filter.since)
        self.order.filter.since = done.since
        log = try DeadLetterReader(settings)
    }

    public func close() { log.close() }

    /// Looks at the letters and publishes nothing.
    public func plan() throws(ToolError) -> Plan {
        var plan = Plan()
        var topics: Set<String> = []
        try log.readAll(from: done.next) { letter in
            guard order.filter.admits(letter) else { return true }
            do throws(ToolError) {
                let record = try ReplayedRecord(letter, names)
                topics.insert(record.topic)
                plan.replayable += 1
            } catch {
                plan.refused += 1
                if plan.refusals.count < Self.refusalsTold { plan.refusals.append("\(error)") }
            }
            return true
        }
        self.topics = topics
        return plan
    }

    /// Publishes what ``plan()`` found replayable.
    ///
    /// - Returns: the number of records that Kafka acknowledged.
    /// - Throws: `ToolError.kafka` before anything is published: the brokers cannot be reached, or lack the Kafka topic
    ///   that some letter comes from.
    public func run() throws(ToolError) -> Int {
        if topics == nil { _ = try plan() }
        let producer = try RecordProducer(settings, topics: (topics ?? []).sorted())
        var sent = 0
        let begun = ContinuousClock.now
        do throws(ToolError) {
            try log.readAll(from: done.next) { letter throws(ToolError) in
                if order.filter.admits(letter), let record = try? ReplayedRecord(letter, names) {
                    try producer.send(key: record.key, value: record.value, headers: record.headers, to: record.topic)
                    sent += 1
                    if sent.isMultiple(of: chunkLetters) { try keep(producer) }
                    pace(sent, since: begun)
                }
                done.next[letter.place.partition] = letter.offset + 1
                return true
            }
            try keep(producer)
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        if let path = order.checkpoint { ReplayCheckpoint.remove(path) }
        return sent
    }

    private var chunkLetters: Int { order.rate.map { min($0, Self.chunk) } ?? Self.chunk }

    /// Waits until everything is acknowledged, and remembers it.
    private func keep(_ producer: RecordProducer) throws(ToolError) {
        try producer.settle()
        if let path = order.checkpoint { try done.write(path) }
    }

    private func pace(_ sent: Int, since begun: ContinuousClock.Instant) {
        guard let rate = order.rate else { return }
        let due = begun + .seconds(Double(sent) / Double(rate))
        let ahead = ContinuousClock.now.duration(to: due)
        if ahead > .zero { Thread.sleep(forTimeInterval: ahead / .seconds(1)) }
    }
}
