import KafkaClient
import NIOCore
import RedisClient

/// The clients of one role's thread.
struct RoleClients {
    var consumer: KafkaConsumer
    var producer: KafkaProducer
    var redis: any RedisPipeline
}
