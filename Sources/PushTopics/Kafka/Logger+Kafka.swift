import KafkaClient
import Logging

extension Logger {
    /// Logs an error from which the client recovers by itself.
    ///
    /// - Parameter client: a constant that names the client.
    package func report(_ error: KafkaError, of client: String) {
        warning("Kafka client", metadata: ["client": "\(client)", "error": "\(error)"])
    }

    /// Like ``report(_:of:)``, for a producer that replaces a failed client by itself.
    package func reportProducer(_ error: KafkaError, of client: String = "producer") {
        guard error.isFatal else { return report(error, of: client) }
        self.error(
            "the Kafka producer was replaced; what it had not delivered is published again",
            metadata: ["client": "\(client)", "error": "\(error)"]
        )
    }

    /// Logs a line of librdkafka's own log.
    package func report(_ line: KafkaLogLine, of client: String) {
        log(
            level: line.logLevel,
            "librdkafka",
            metadata: ["client": "\(client)", "facility": "\(line.facility)", "message": "\(line.message)"]
        )
    }
}

extension KafkaLogLine {
    /// The line's level in our log: its severity of syslog, unless the line says nothing to an operator.
    package var logLevel: Logger.Level {
        if isTwin || isAboutOtherClients { return .debug }
        return switch level {
        case ...2: .critical
        case 3: .error
        case 4: .warning
        case 5: .notice
        case 6: .info
        default: .debug
        }
    }

    /// The line for the user of a command; nil: it is less than a warning.
    package var warningText: String? {
        logLevel >= .warning ? "librdkafka: \(message) [\(facility)]" : nil
    }

    /// The same words come as an error of the client, which is logged by itself.
    private var isTwin: Bool { facility == "FAIL" || facility == "FATAL" }

    /// All clients get the operator's properties, those of the other kind of client too.
    private var isAboutOtherClients: Bool {
        facility == "CONFWARN" && message.contains("will be ignored by this")
    }
}
