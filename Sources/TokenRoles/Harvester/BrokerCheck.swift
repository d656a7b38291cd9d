import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics

/// Checks that tuples, once read, could be published. On the event loop.
protocol BrokerCheck: AnyObject {
    /// Calls back once, later; nil: the broker answers.
    func check(_ answered: @escaping ((any Error)?) -> Void)
}

/// Asks the brokers, on a thread of its own, whether the topic's partitions can be written to. Runs on `eventLoop`.
final class KafkaBrokerCheck: BrokerCheck {
    private let eventLoop: any EventLoop
    private let properties: KafkaProperties
    private let topic: String
    private let logger: Logger
    private let timeoutMilliseconds: Int32
    /// Askers that wait for the answer to the question under way.
    private var waiting: [((any Error)?) -> Void] = []

    init(
        eventLoop: any EventLoop,
        properties: KafkaProperties,
        topic: String,
        logger: Logger,
        timeoutMilliseconds: Int32 = 5_000
    ) {
        self.eventLoop = eventLoop
        self.properties = properties
        self.topic = topic
        self.logger = logger
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    func check(_ answered: @escaping ((any Error)?) -> Void) {
        waiting.append(answered)
        // Many lists may be due at the same time.
        guard waiting.count == 1 else { return }
        let answer = NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            [properties, topic, logger, timeoutMilliseconds] in
            let admin = try KafkaAdmin(properties: properties, named: "check of push.feedback", logger: logger)
            defer { admin.close() }
            try admin.checkLeaders(of: topic, timeoutMilliseconds: timeoutMilliseconds)
        }
        answer.assumeIsolated().whenComplete { [self] result in
            let asked = waiting
            waiting = []
            var error: (any Error)?
            if case .failure(let failure) = result { error = failure }
            for answered in asked { answered(error) }
        }
    }
}
