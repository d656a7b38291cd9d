import Logging

/// Writes log lines as JSON, one object a line: `{"time":…,"level":…,"logger":…,"message":…,"metadata":{…}}`.
///
/// Messages are constant texts, what varies is metadata: so lines can be counted by message, and limited by it. Texts
/// are cut to ``LogLimits``. `"left_out":n` says that so many lines of this message were left out before this one.
/// Thread-safe; a line is handed to the output in one piece.
public struct JSONLogHandler: LogHandler {
    /// The least severe level that is written: that of the log, unless this logger was given one of its own.
    public var logLevel: Logger.Level {
        get { ownLevel ?? level.value }
        set { ownLevel = newValue }
    }

    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let level: LogLevelSwitch
    private var ownLevel: Logger.Level?
    private let gate: LogGate?
    private let output: @Sendable ([UInt8]) -> Void
    private let unixMilliseconds: @Sendable () -> Int64

    /// - Parameters:
    ///   - label: the logger's name.
    ///   - level: the least severe level that is written.
    ///   - output: takes one line, its end included; called on the thread that logs.
    ///   - unixMilliseconds: the time of day.
    public init(
        label: String,
        level: Logger.Level = .info,
        output: @escaping @Sendable ([UInt8]) -> Void = StandardStream.error.write,
        unixMilliseconds: @escaping @Sendable () -> Int64 = UTCTimestamp.now
    ) {
        let level = LogLevelSwitch(level)
        self.init(label: label, level: level, gate: nil, output: output, unixMilliseconds: unixMilliseconds)
    }

    /// - Parameters:
    ///   - level: of the log; may change at any time.
    ///   - gate: limits the rate of each message; nil: all lines are written.
    init(
        label: String,
        level: LogLevelSwitch,
        gate: LogGate?,
        output: @escaping @Sendable ([UInt8]) -> Void,
        unixMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.label = label
        self.level = level
        self.gate = gate
        self.output = output
        self.unixMilliseconds = unixMilliseconds
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let message = event.message.description
        var leftOut = 0
        if let gate {
            let kind = LogRateLimiter.Kind(level: event.level, logger: label, message: message)
            guard case .write(let count) = gate.judge(kind) else { return }
            leftOut = count
        }
        var room = LogRoom()
        var line = Self.line(event.level, label, room.fit(message), unixMilliseconds: unixMilliseconds())
        if let error = event.error { line.append("error", room.fit("\(error)")) }
        if leftOut > 0 { line.append("left_out", leftOut) }
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let given = event.metadata { all.merge(given) { $1 } }
        if !all.isEmpty { line.append("metadata", Self.object(all, &room)) }
        output(line.line)
    }

    private static func line(
        _ level: Logger.Level,
        _ label: String,
        _ message: String,
        unixMilliseconds: Int64
    ) -> JSONLine {
        var line = JSONLine()
        line.append("time", UTCTimestamp.text(unixMilliseconds: unixMilliseconds))
        line.append("level", level.rawValue)
        line.append("logger", label)
        line.append("message", message)
        return line
    }

    private static func object(_ metadata: Logger.Metadata, _ room: inout LogRoom) -> JSONLine {
        var object = JSONLine()
        // Sorted: the order of a dictionary differs from process to process.
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .string(let text): object.append(key, room.fit(text))
            case .stringConvertible(let value): object.append(key, room.fit(value.description))
            case .dictionary(let inner): object.append(key, Self.object(inner, &room))
            case .array(let values): object.append(key, room.fit(values.map(\.description).joined(separator: ",")))
            }
        }
        return object
    }
}

extension JSONLogHandler {
    /// A line that tells of lines that were left out because too many of one kind came.
    static func line(_ leftOut: LogRateLimiter.LeftOut, unixMilliseconds: Int64) -> [UInt8] {
        let kind = leftOut.kind
        var line = line(kind.level, kind.logger, "log lines left out", unixMilliseconds: unixMilliseconds)
        var metadata = JSONLine()
        metadata.append("lines", "\(leftOut.lines)")
        metadata.append("message", LogText.limited(kind.message, to: LogLimits.textBytes))
        line.append("metadata", metadata)
        return line.line
    }

    /// A line that tells of lines that were left out because standard error was not read.
    static func line(unread lines: Int, unixMilliseconds: Int64) -> [UInt8] {
        let message = "log lines left out, standard error was not read"
        var line = line(.warning, "belfry", message, unixMilliseconds: unixMilliseconds)
        var metadata = JSONLine()
        metadata.append("lines", "\(lines)")
        line.append("metadata", metadata)
        return line.line
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }
}
