import Logging
import Synchronization

/// Keeps log lines from `info` up, for tests.
final class LogLines: Sendable {
    private struct Line {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let lines = Mutex<[Line]>([])
    private let news = AsyncStream<String>.makeStream()

    /// The messages of warnings and errors.
    var messages: [String] { warnings.map(\.message) }
    /// The values of `error` beside them, of those that have one.
    var errors: [String] { warnings.compactMap { $0.metadata["error"]?.description } }

    /// All lines, to search for what they must not have.
    var text: String {
        lines.withLock { $0.map { "\($0.message) \($0.metadata)" } }.joined(separator: "\n")
    }

    private var warnings: [Line] { lines.withLock { $0.filter { $0.level >= .warning } } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    /// The lines with a message, of any level: what stands beside it.
    func metadata(of message: String) -> [[String: String]] {
        lines.withLock { $0.filter { $0.message == message } }.map { $0.metadata.mapValues(\.description) }
    }

    /// The levels of the lines with a message.
    func levels(of message: String) -> [Logger.Level] {
        lines.withLock { $0.filter { $0.message == message } }.map(\.level)
    }

    /// Returns when one more warning or error with this message is there. For one caller.
    func next(_ message: String) async {
        for await line in news.stream where line == message { return }
    }

    private struct Handler: LogHandler {
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]
        let lines: LogLines

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = Line(
                level: event.level,
                message: event.message.description,
                metadata: metadata.merging(event.metadata ?? [:]) { $1 }
            )
            lines.lines.withLock { $0.append(line) }
            if line.level >= .warning { lines.news.continuation.yield(line.message) }
        }
    }
}
