import BelfrySupport
import KafkaClient
import PipelineCore
import PushTopics
import RequestLanes

/// Carries out `belfry apps pause`, `resume`, `pace`, `discard` and `levers`. Blocks the calling thread.
public enum LeverCommands {
    private static let clientID = "belfry-topics"
    private static let timeoutMilliseconds: Int32 = 10_000

    /// Publishes an order to push.controls, and returns when all in-sync replicas have it.
    ///
    /// - Throws: `ToolError.invalidInput` before anything is published; `ToolError.kafka`: the brokers cannot be
    ///   reached, or have no push.controls; `ToolError.notDelivered`: the order may hold in some environments, or in
    ///   none.
    public static func set(_ order: LeverOrder, through settings: KafkaSettings) throws(ToolError) -> LeverReport {
        let now = UTCTimestamp.now()
        try order.check(now: now)
        if let doubt = order.doubt { Diagnostics.tell(doubt) }
        let names = TopicNames(settings)
        // First: with them missing the order would mean nothing.
        var ends: [RequestLane: [Int32: Int64]] = [:]
        for lane in try discarded(order, names, settings) {
            ends[lane] = try self.ends(of: names.requests(lane), settings)
        }
        let known = order.needsLevers ? try read(settings).lines : []
        let lines = order.lines(ends: ends, known: known, now: now)
        let producer = try RecordProducer(settings, topic: names.controls)
        do throws(ToolError) {
            for line in lines { try send(line, to: names.controls, producer) }
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        return LeverReport(
            lines: lines,
            remaining: order.remaining(known),
            partitions: ends.values.reduce(0) { $0 + $1.count },
            kafkaTopics: ends.keys.sorted().map { names.requests($0) },
            allowsForClocks: order.change == .discard(before: nil),
            orderedAt: now
        )
    }

    /// Prints the levers that are set, in the order of their apps.
    ///
    /// - Parameters:
    ///   - output: takes lines with their ends; false: the reader is gone.
    /// - Throws: the brokers cannot be reached, or have no push.controls; `ToolError.refused`: a record cannot be read.
    public static func list(
        _ settings: KafkaSettings,
        asJSON: Bool,
        output: ([UInt8]) -> Bool = StandardStream.output.tryWrite
    ) throws(ToolError) {
        let levers = try read(settings)
        for line in levers.lines where !output(asJSON ? line.json.line : Array((line.text + "\n").utf8)) { return }
        for fault in levers.faults { Diagnostics.tell(fault) }
        guard levers.faults.isEmpty else {
            throw .refused("left out, for they cannot be read: \(counted(levers.faults.count, "record"))")
        }
        if levers.lines.isEmpty { Diagnostics.tell("no lever is set") }
    }

    /// The levers that push.controls leaves set.
    static func read(_ settings: KafkaSettings) throws(ToolError) -> LeverListing {
        let names = TopicNames(settings)
        let log = try TopicLog(settings, topic: names.controls, clientID: clientID)
        defer { log.close() }
        var levers = LeverListing()
        try log.read(log.places) { message in
            levers.add(
                key: message.key,
                value: message.value,
                setAt: message.timestampMilliseconds,
                place: "\(names.controls)[\(message.partition)]@\(message.offset)"
            )
            return true
        }
        return levers
    }

    /// The lanes in which an order to discard holds: the one that it names, or all that have a Kafka topic.
    private static func discarded(
        _ order: LeverOrder,
        _ names: TopicNames,
        _ settings: KafkaSettings
    ) throws(ToolError) -> [RequestLane] {
        guard order.needsEnds else { return [] }
        if let lane = order.lane { return [lane] }
        let topics: [String: Int]
        do throws(KafkaError) {
            topics = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                let admin = try KafkaAdmin(forCommand: settings, clientID: clientID)
                defer { admin.close() }
                return try admin.partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
            }
        } catch {
            throw ToolError(error)
        }
        // The question for the normal lane's ends fails if its Kafka topic is missing, and says so.
        return Set(names.lanes(in: topics)).union([.normal]).sorted()
    }

    private static func ends(of topic: String, _ settings: KafkaSettings) throws(ToolError) -> [Int32: Int64] {
        let log = try TopicLog(settings, topic: topic, clientID: clientID)
        defer { log.close() }
        let marks = try log.watermarks(of: log.places)
        return Dictionary(uniqueKeysWithValues: zip(log.places.map(\.partition), marks.map(\.high)))
    }

    private static func send(_ line: LeverLine, to topic: String, _ producer: RecordProducer) throws(ToolError) {
        let key = ControlRecord.key(line.lever, of: line.name, in: line.lane)
        guard let setting = line.setting else { return try producer.sendRemoval(key: key, to: topic) }
        let value: [UInt8]
        do {
            value = try ControlRecord.value(setting, of: line.name, reason: line.reason)
        } catch {
            throw .invalidInput(["\(error)"])
        }
        try producer.send(key: key, value: value, headers: [], to: topic)
    }
}
