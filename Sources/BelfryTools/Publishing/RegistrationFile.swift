import BelfrySupport
import PipelineCore
import PushSchemas
import PushTopics

/// The result of publishing a file.
public struct RegistrationFileReport: Equatable, Sendable {
    /// The Kafka topic.
    public let topic: String
    /// Published, in earlier runs of the same file too.
    public var tokens = 0
    /// Lines that could not be used, in earlier runs too.
    public var faults = 0
    /// The line at which this run began, from 1 on.
    public var firstLine = 1

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("topic", topic)
        line.append("tokens", tokens)
        line.append("bad_lines", faults)
        line.append("first_line", firstLine)
        return line.text
    }

    /// A sentence.
    public var text: String {
        let resumed = firstLine == 1 ? "" : ", resumed at line \(firstLine)"
        return
            "published \(counted(tokens, "token")) to \(topic); \(counted(faults, "line")) could not be used\(resumed)"
    }
}

/// Publishes a file of registrations to push.registrations, and remembers beside it how far it came: killed at any
/// moment and started again it publishes every token at least once, few twice. Memory does not depend on the file.
///
/// Blocks the calling thread.
public struct RegistrationFile {
    /// Bad lines that are told one by one.
    static let toldFaults = 20
    /// Lines between two checkpoints.
    static let sectionLines = 20_000

    private let path: String
    private let order: RegistrationOrder

    /// Begins anew even if the file was published in part.
    public var restarts = false
    /// Ends at the first bad line.
    public var isStrict = false
    /// Called with what is wrong with a line; for the first few of a run.
    public var onFault: (String) -> Void = { _ in }
    /// Called every some thousand lines with the share of the file that is done, 0...1, and the tokens published.
    public var onProgress: (_ share: Double, _ tokens: Int) -> Void = { _, _ in }
    /// Called when everything before a line is acknowledged and that is remembered, for tests.
    var onCheckpoint: (RegistrationCheckpoint) throws -> Void = { _ in }

    /// The words for a run that is cut off.
    ///
    /// - Parameter restarts: it had begun anew on demand, which the next one must not.
    package static func resumption(restarts: Bool) -> String {
        "the same command \(restarts ? "without --restart " : "")goes on where this one stopped"
    }

    /// - Parameter order: what the lines leave open; its tokens do not count.
    public init(path: String, order: RegistrationOrder) {
        self.path = path
        self.order = order
    }

    /// - Throws: `ToolError.invalidInput` for a file that cannot be read or an order that is wrong, before anything is
    ///   published, and for the first bad line if strict; `.notDelivered` if Kafka did not take everything: the next
    ///   run goes on where it was.
    public func publish(through settings: KafkaSettings) throws -> RegistrationFileReport {
        let template = try order.template()
        let lengths = 32...max(32, order.tokenLimitBytes)
        var lines = try LineStream(path: path)
        var place = RegistrationCheckpoint(source: source(of: lines, template, settings))
        let columns = try readHeader(of: &lines, &place)
        var firstLine = 1
        if !restarts, let found = RegistrationCheckpoint.read(beside: path, of: place.source) {
            place = found
            firstLine = found.lines + 1
        }
        try lines.seek(to: place.offset)
        let topic = TopicNames(settings).registrations
        let producer = try RecordProducer(settings, topic: topic)
        do {
            place = try publish(&lines, to: topic, from: place, columns, template, lengths, through: producer)
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        RegistrationCheckpoint.remove(beside: path)
        return RegistrationFileReport(topic: topic, tokens: place.tokens, faults: place.faults, firstLine: firstLine)
    }

    /// The file's columns; moves `place` behind the header line, if there is one.
    ///
    /// - Throws: `ToolError.invalidInput`: the header names what there is not.
    private func readHeader(
        of lines: inout LineStream,
        _ place: inout RegistrationCheckpoint
    ) throws(ToolError) -> RegistrationColumns {
        // Spreadsheets put a byte order mark before the first line.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if lines.beginning(mark.count) == mark { place.offset = Int64(mark.count) }
        try lines.seek(to: place.offset)
        var header: Result<RegistrationColumns?, RegistrationLine.Fault> = .success(nil)
        var number = 0
        var isFound = false
        while !isFound {
            let isLine = try lines.next { bytes in
                isFound = RegistrationLine.saysAnything(bytes)
                guard isFound else { return }
                header = Result { () throws(RegistrationLine.Fault) in try RegistrationColumns(header: bytes) }
            }
            guard isLine else { break }
            number += 1
        }
        switch header {
        case .success(let columns?):
            (place.offset, place.lines) = (lines.offset, number)
            return columns
        case .success(nil):
            return .standard
        case .failure(let fault):
            throw .invalidInput(["\(path):\(number): \(fault.message)"])
        }
    }

    /// Returns where the file ends; everything is handed over then, and not all acknowledged.
    private func publish(
        _ lines: inout LineStream,
        to topic: String,
        from begin: RegistrationCheckpoint,
        _ columns: RegistrationColumns,
        _ template: RegistrationBatcher.Template,
        _ lengths: ClosedRange<Int>,
        through producer: RecordProducer
    ) throws -> RegistrationCheckpoint {
        let batcher = RegistrationBatcher(template)
        let ledger = Ledger()
        producer.onAcknowledged = { number, _, _ in ledger.places.acknowledged(number) }
        var place = begin
        var told = 0
        while true {
            var parsed: Result<RegistrationLine?, RegistrationLine.Fault> = .success(nil)
            let isLine = try lines.next { bytes in
                parsed = Result { () throws(RegistrationLine.Fault) in
                    try RegistrationLine.parse(bytes, columns: columns, lengths: lengths)
                }
            }
            guard isLine else { break }
            place.lines += 1
            switch parsed {
            case .success(let line?):
                let record = try line.token.withUnsafeBytes { try batcher.record(for: $0, line) }
                ledger.places.sent()
                try producer.send(record, to: topic, number: ledger.places.current)
                place.tokens += 1
            case .success(nil):
                break
            case .failure(let fault):
                let message = "\(path):\(place.lines): \(fault.message)"
                if isStrict { throw ToolError.invalidInput([message]) }
                place.faults += 1
                told += 1
                if told <= Self.toldFaults { onFault(message) }
            }
            place.offset = lines.offset
            guard place.lines.isMultiple(of: Self.sectionLines) else { continue }
            ledger.places.close(at: place)
            try remember(ledger)
            if let failure = producer.failure { throw failure }
            onProgress(lines.size > 0 ? Double(place.offset) / Double(lines.size) : 1, place.tokens)
        }
        return place
    }

    private func remember(_ ledger: Ledger) throws {
        guard let reached = ledger.places.takeReached() else { return }
        try reached.write(beside: path)
        try onCheckpoint(reached)
    }

    func source(
        of lines: borrowing LineStream,
        _ template: RegistrationBatcher.Template,
        _ settings: KafkaSettings
    ) -> RegistrationCheckpoint.Source {
        let beginning = lines.beginning(RegistrationCheckpoint.beginningBytes)
        return .init(
            size: lines.size,
            modifiedAt: lines.modifiedAt,
            beginning: beginning.withUnsafeBytes { CRC32.checksum($0) },
            order: "\(template) of \(order.tokenLimitBytes) bytes to \(settings.place)"
        )
    }

    /// Changed by the producer's reports, on the thread of its calls.
    private final class Ledger {
        var places = CheckpointLedger<RegistrationCheckpoint>()
    }
}
