import BelfrySupport
import KafkaClient

/// The Kafka clients of a part that consumes a Kafka topic in a group, and publishes what follows from it.
///
/// Its owner closes both.
package struct KafkaMember {
    package let consumer: KafkaConsumer
    package let producer: KafkaProducer
}

extension KafkaSettings {
    /// Makes both clients, which contact the brokers once they are started.
    ///
    /// - Throws: `KafkaError`, with `isConfiguration` for a wrong property; then neither is left open.
    package func makeMember(clientID: String, group: String, topic: String) throws(KafkaError) -> KafkaMember {
        let producer = try KafkaProducer(properties: producerProperties(clientID: clientID))
        do throws(KafkaError) {
            let consumer = try KafkaConsumer(
                properties: consumerProperties(clientID: clientID),
                group: group,
                topics: [topic]
            )
            return KafkaMember(consumer: consumer, producer: producer)
        } catch {
            producer.close()
            throw error
        }
    }
}
