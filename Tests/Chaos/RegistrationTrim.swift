import KafkaClient

/// Tells the broker to forget what was applied, and would not be applied again after a fail-over of Redis.
///
/// Used by the thread of the pump.
final class RegistrationTrim {
    private let watch: ApplierWatch
    private let brokerPort: Int
    private var next = ContinuousClock.now

    private static let interval = Duration.seconds(2)

    init(watch: ApplierWatch, brokerPort: Int) {
        self.watch = watch
        self.brokerPort = brokerPort
    }

    /// Does it if it is due.
    ///
    /// - Parameter seen: of push.feedback, the offset after the last one that this program has read.
    func turn(seen: [KafkaTopicPartition: Int64]) {
        guard next <= .now else { return }
        next = .now + Self.interval
        do {
            for (place, position) in watch.committed.sorted(by: { $0.key < $1.key }) {
                guard let applied = LogTrim.applied(committed: position.offset, position.metadata) else { continue }
                // Of push.feedback this program has to have read it as well.
                let before = min(applied, seen[place] ?? applied)
                let connection = try LoopbackSocket(port: brokerPort)
                _ = try connection.ask(
                    KafkaWire.deleteRecords(place.topic, before: [(partition: place.partition, offset: before)])
                )
            }
        } catch {
            // A broker that is busy or away keeps more for a while.
            say("the broker was not told what to forget: \(error)")
        }
    }
}
