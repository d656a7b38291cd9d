import KafkaClient
import NIOCore
import RedisClient

/// The clients of one role's thread.
package struct RoleClients {
    package var consumer: KafkaConsumer
    package var producer: KafkaProducer
    package var redis: any RedisPipeline

    package init(consumer: KafkaConsumer, producer: KafkaProducer, redis: any RedisPipeline) {
        self.consumer = consumer
        self.producer = producer
        self.redis = redis
    }
}
