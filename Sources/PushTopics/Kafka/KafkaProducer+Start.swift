import KafkaClient
import NIOCore

extension KafkaProducer {
    /// Starts to report on an event loop. If that fails the producer is closed, and the client of Redis beside it.
    package func start(on eventLoop: any EventLoop, closing redis: any RedisPipeline) throws(KafkaError) {
        do throws(KafkaError) {
            try start(on: eventLoop) { [unowned self] in poll() }
        } catch {
            close(flushMilliseconds: 0)
            redis.close()
            throw error
        }
    }
}
