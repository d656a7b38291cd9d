import Logging
import Synchronization

/// Keeps the messages of warnings and errors, for tests.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let problems = Mutex<[String]>([])
    private let news = AsyncStream<String>.makeStream()

    var messages: [String] { lines.withLock { $0 } }
    /// The values of `error` beside them, of those that have one.
    var errors: [String] { problems.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    /// Returns when one more line with this message is there. For one caller.
    func next(_ message: String) async {
        for await line in news.stream where line == message { return }
    }

    private struct Handler: LogHandler {
        var logLevel = Logger.Level.warning
        var metadata: Logger.Metadata = [:]
        let lines: LogLines

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.lines.withLock { $0.append(event.message.description) }
            if let error = event.metadata?["error"] { lines.problems.withLock { $0.append("\(error)") } }
            lines.news.continuation.yield(event.message.description)
        }
    }
}
