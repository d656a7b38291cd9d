import Logging

/// Writes log lines as JSON, one object a line: `{"time":…,"level":…,"logger":…,"message":…,"metadata":{…}}`.
///
/// Messages are constant texts, what varies is metadata: so lines can be counted by message. Thread-safe; a line is
/// handed to the output in one piece.
public struct JSONLogHandler: LogHandler {
    public var logLevel: Logger.Level
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
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
        self.label = label
        logLevel = level
        self.output = output
        self.unixMilliseconds = unixMilliseconds
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var line = JSONLine()
        line.append("time", UTCTimestamp.text(unixMilliseconds: unixMilliseconds()))
        line.append("level", event.level.rawValue)
        line.append("logger", label)
        line.append("message", event.message.description)
        if let error = event.error { line.append("error", "\(error)") }
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let given = event.metadata { all.merge(given) { $1 } }
        if !all.isEmpty { line.append("metadata", Self.object(all)) }
        output(line.line)
    }

    private static func object(_ metadata: Logger.Metadata) -> JSONLine {
        var object = JSONLine()
        // Sorted: the order of a dictionary differs from process to process.
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .string(let text): object.append(key, text)
            case .stringConvertible(let value): object.append(key, value.description)
            case .dictionary(let inner): object.append(key, Self.object(inner))
            case .array(let values): object.append(key, values.map(\.description).joined(separator: ","))
            }
        }
        return object
    }
}

extension JSONLogHandler {
    /// Makes this the process's log, on standard error. Once per process, before the first logger is made.
    public static func bootstrap(level: LogLevel) {
        let level = Logger.Level(level)
        LoggingSystem.bootstrap { label in JSONLogHandler(label: label, level: level) }
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
