import BelfrySupport
import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes

/// Position of the workers' group in one partition of a lane's Kafka topic. It knows the topics that are behind.
public struct PartitionPosition: Equatable, Sendable {
    /// Metadata of the commit, as far as it can be read.
    enum Metadata: Equatable, Sendable {
        /// Nothing is committed.
        case uncommitted
        case understood(PositionMetadata)
        /// Another program committed an offset without metadata.
        case missing
        /// The partition stands.
        case notUnderstood
        /// The partition stands: a mirror has copied the metadata of another offset. `lowest` is its lowest cursor.
        case madeFor(offset: Int64, lowest: Int64)

        /// The key of the topics' hashes.
        var salt: AppSalt {
            if case .understood(let metadata) = self { metadata.salt } else { .none }
        }
    }

    /// The first record of a log that has lost records.
    struct FirstRecord: Equatable, Sendable {
        var offset: Int64
        /// UNIX milliseconds; nil: the log does not tell.
        var publishedAt: Int64?
        /// The publisher's id; empty: it has none, or cannot be read.
        var requestID = ""
    }

    /// The group's progress with one request.
    enum Progress: Equatable, Sendable {
        /// The workers have not come to it, as far as they have committed.
        case unread
        /// It is read, and its topic lags from there or from before.
        case behind
        case done
        /// Nothing of the partition is read.
        case standing
    }

    let place: KafkaTopicPartition
    /// Nil: nothing is committed.
    let offset: Int64?
    /// As it was committed.
    let metadataText: String
    let log: KafkaWatermarks
    let metadata: Metadata
    /// Topics that may be behind.
    private(set) var known: [AppHashNames.Name]
    private(set) var names: AppHashNames
    /// The reasons why topics lag, as far as they were looked for.
    private var reasons: [AppHash: LagReason] = [:]
    /// Nil: it was not read.
    var firstLeft: FirstRecord?

    init(_ committed: KafkaPartitionOffset, log: KafkaWatermarks, known: [AppHashNames.Name]) {
        place = committed.place
        offset = committed.offset >= 0 ? committed.offset : nil
        metadataText = committed.offset >= 0 ? committed.metadata : ""
        self.log = log
        self.known = known
        metadata = Self.metadata(of: committed)
        names = AppHashNames(known, salt: metadata.salt)
    }

    private static func metadata(of committed: KafkaPartitionOffset) -> Metadata {
        guard committed.offset >= 0 else { return .uncommitted }
        do throws(PositionMetadata.DecodingError) {
            return .understood(
                try PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
            )
        } catch {
            return switch error {
            case .missing: .missing
            case .unknownVersion, .malformed: .notUnderstood
            case .madeFor(let offset, let lowest): .madeFor(offset: offset, lowest: lowest)
            }
        }
    }

    /// Ascending by cursor.
    var laggards: [PositionMetadata.Laggard] {
        guard case .understood(let metadata) = metadata else { return [] }
        return metadata.laggards
    }

    /// Topics that are behind, and whose bundles are not known.
    var unnamed: [PositionMetadata.Laggard] {
        laggards.filter { ![.refused, .others].contains($0.topic) && names[$0.topic] == nil }
    }

    /// Takes the name that a record at a cursor bears.
    mutating func learn(_ name: AppHashNames.Name) {
        known.append(name)
        names = AppHashNames(known, salt: metadata.salt)
    }

    /// Notes why those topics lag whose bundles are known.
    ///
    /// - Parameter lane: that of the partition.
    mutating func explain(by found: LagReasons, in lane: RequestLane) {
        for laggard in laggards {
            if let name = names[laggard.topic] { reasons[laggard.topic] = found.reason(of: name, in: lane) }
        }
    }

    // MARK: Requests

    /// The progress of the group with a topic's request at an offset.
    func progress(of name: AppHashNames.Name, at request: Int64) -> Progress {
        switch metadata {
        case .notUnderstood, .madeFor: return .standing
        case .uncommitted, .understood, .missing: break
        }
        guard let offset, request < offset else { return .unread }
        let hash = AppHash(bundleID: name.bundleID, environment: name.environment, salt: metadata.salt)
        return laggards.contains { $0.topic == hash && $0.cursor <= request } ? .behind : .done
    }

    /// Retention has deleted records that the group has not done.
    var hasLost: Bool { ([offset].compactMap(\.self) + laggards.map(\.cursor)).contains { lost(from: $0) != nil } }

    /// The offsets that the log has no more, of those from one on that were to be read; records of other topics are
    /// among them.
    private func lost(from next: Int64) -> ClosedRange<Int64>? { next < log.low ? next...log.low - 1 : nil }

    private func lossText(from next: Int64) -> String? {
        guard let gone = lost(from: next) else { return nil }
        var text = "lost: retention has deleted offsets \(gone.allowedText) before they were sent"
        guard let firstLeft else { return text }
        text += "; the first that is left is \(firstLeft.offset)"
        if let time = firstLeft.publishedAt { text += ", published \(UTCTimestamp.text(unixMilliseconds: time))" }
        if !firstLeft.requestID.isEmpty { text += ", request id \(TerminalText.column(firstLeft.requestID))" }
        return text
    }

    // MARK: Output

    /// One JSON object on one line, without its end.
    public var json: String { line.text }

    var line: JSONLine {
        var line = JSONLine()
        line.append("topic", place.topic)
        line.append("partition", place.partition)
        if let offset { line.append("committed", offset) }
        line.append("log_start", log.low)
        line.append("log_end", log.high)
        line.append("metadata", metadataName)
        if case .madeFor(let made, _) = metadata { line.append("made_for", made) }
        if let wayOut { line.append("set_offset_to", wayOut) }
        if let gone = offset.flatMap(lost(from:)) { line.append("lost", Self.extent(gone)) }
        if let firstLeft { line.append("first_left", firstLeft.line) }
        line.append("laggards", laggards.map { self.line(of: $0) })
        return line
    }

    private func line(of laggard: PositionMetadata.Laggard) -> JSONLine {
        var line = JSONLine()
        if let name = names[laggard.topic] {
            line.append("bundle", name.bundleID)
            line.append("environment", name.environment)
        }
        line.append("hash", AppHashNames.hex(laggard.topic))
        line.append("cursor", laggard.cursor)
        line.append("records_to_end", recordsToEnd(laggard))
        line.append("done_runs", laggard.done.runs.count)
        if let gone = lost(from: laggard.cursor) { line.append("lost", Self.extent(gone)) }
        if let reason = reasons[laggard.topic] {
            line.append("why", reason.name)
            line.append("why_text", reason.text)
        }
        return line
    }

    private static func extent(_ offsets: ClosedRange<Int64>) -> JSONLine {
        var line = JSONLine()
        line.append("first", offsets.lowerBound)
        line.append("last", offsets.upperBound)
        return line
    }

    /// One line for the partition, and some for each topic that is behind.
    public var text: String {
        let committed = offset.map { "committed \($0)" } ?? "nothing committed"
        let head = "\(place): \(committed)\(remark), log \(log.low)...\(log.high)"
        var lines = [head]
        if let loss = offset.flatMap(lossText(from:)) { lines.append("  \(loss)") }
        for laggard in laggards {
            lines.append(
                "  \(names.text(of: laggard.topic)): cursor \(laggard.cursor), "
                    + "\(counted(recordsToEnd(laggard), "record")) to the end, "
                    + "\(counted(laggard.done.runs.count, "done run"))"
            )
            if let reason = reasons[laggard.topic] { lines.append("    why: \(reason.text)") }
            if let loss = lossText(from: laggard.cursor) { lines.append("    \(loss)") }
        }
        return lines.joined(separator: "\n")
    }

    /// Of all topics: only a worker that reads them can tell whose they are.
    private func recordsToEnd(_ laggard: PositionMetadata.Laggard) -> Int64 { max(0, log.high - laggard.cursor) }

    private var metadataName: String {
        switch metadata {
        case .uncommitted: "uncommitted"
        case .understood: "understood"
        case .missing: "missing"
        case .notUnderstood: "not-understood"
        case .madeFor: "made-for-another-offset"
        }
    }

    /// Of metadata made for another offset: the offset below which every topic is done. A mirror keeps the order of
    /// records and adds none, so no cursor lies further back than in its own log.
    private var wayOut: Int64? {
        guard let offset, case .madeFor(let made, let lowest) = metadata else { return nil }
        return max(log.low, offset - max(0, made - lowest))
    }

    private var remark: String {
        switch metadata {
        case .uncommitted, .understood: ""
        case .missing: " without metadata"
        case .notUnderstood: " with metadata that is not understood: the partition stands"
        case .madeFor(let made, let lowest):
            " with metadata made for offset \(made), as a mirror copies it: the partition stands. The app that was "
                + "furthest behind had its cursor \(counted(made - min(lowest, made), "record")) before; set the "
                + "offset to \(wayOut ?? log.low), which loses nothing and repeats what other apps have there"
        }
    }
}

extension PartitionPosition.FirstRecord {
    init(_ message: KafkaMessageView) {
        offset = message.offset
        publishedAt = message.timestampMilliseconds
        let type = message.contentType
        requestID = (try? RequestDecoding.decode(PushSendRequest.self, from: message.value, as: type))?.requestID ?? ""
    }

    fileprivate var line: JSONLine {
        var line = JSONLine()
        line.append("offset", offset)
        if let publishedAt { line.append("published_at", UTCTimestamp.text(unixMilliseconds: publishedAt)) }
        if !requestID.isEmpty { line.append("request_id", requestID) }
        return line
    }
}
