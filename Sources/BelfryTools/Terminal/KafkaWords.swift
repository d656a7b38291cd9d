import BelfrySupport
import KafkaClient
import PushTopics

/// Lines of librdkafka's log for the user of a command: warnings and worse, on standard error.
enum KafkaWords {
    /// - Parameter tell: takes a line for standard error.
    static func tell(_ line: KafkaLogLine, tell: (_ text: String) -> Void = Diagnostics.tell) {
        if let text = line.warningText { tell(text) }
    }
}

extension KafkaAdmin {
    /// A command's client.
    ///
    /// - Parameter tell: takes a line for standard error.
    convenience init(
        forCommand settings: KafkaSettings,
        clientID: String,
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(KafkaError) {
        try self.init(properties: settings.adminProperties(clientID: clientID))
        onLog = { KafkaWords.tell($0, tell: tell) }
    }
}
