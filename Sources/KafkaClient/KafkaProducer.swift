import CRdKafka
import NIOCore

/// Produces messages; every accepted one is reported on, once.
///
/// One thread makes all calls (with ``start(on:onReadable:)``: the event loop) and gets all handlers from inside
/// ``poll()``, ``flush(timeoutMilliseconds:)`` and ``close(flushMilliseconds:)``, never from inside a call of
/// librdkafka: a handler may produce, and close.
///
/// A fatal error of librdkafka (an idempotent producer whose broker has lost track of its sequence) ends only the inner
/// client. It is replaced, its undelivered messages are reported as failed, and producing goes on. If it cannot be
/// replaced, the producer is defunct (``isDefunct``).
///
/// Default: `partitioner` is `murmur2_random`, as in Java, so that a key gets the same partition from every producer.
public final class KafkaProducer {
    /// The end of a message. `opaque` is the caller's value; `error` is nil if the broker has acknowledged the message.
    /// `partition` and `offset` tell its place (−1 where that is not known: it failed, or the answer was lost and a
    /// retry found it stored).
    public var onDelivery: ((_ opaque: UInt64, _ error: KafkaError?, _ partition: Int32, _ offset: Int64) -> Void)?

    /// The broker's time, UNIX milliseconds, when it has just appended a message to a topic that keeps that time
    /// (`message.timestamp.type=LogAppendTime`).
    public var onAppended: ((_ milliseconds: Int64) -> Void)?

    /// Errors of brokers, from which librdkafka recovers by itself. If the error `isFatal`, the inner client has been
    /// replaced, or else the producer is defunct.
    public var onError: ((KafkaError) -> Void)?

    public var onLog: ((KafkaLogLine) -> Void)?

    let inbox: KafkaInbox
    /// Nil once closed.
    var handle: KafkaHandle?
    /// The number of replacements of the inner client.
    public private(set) var renewals = 0
    /// The inner client failed permanently and could not be replaced: nothing is delivered any more.
    public private(set) var isDefunct = false
    private let makeHandle: (KafkaInbox) throws(KafkaError) -> KafkaHandle
    private var queue: OpaquePointer?
    private var topics: [String: KafkaTopic] = [:]
    private var wakeUp: QueueWakeUp?

    private static let defaults: KafkaProperties = ["partitioner": "murmur2_random"]

    /// Makes a client; brokers are contacted in the background.
    ///
    /// - Parameter properties: at least `bootstrap.servers`.
    /// - Throws: `KafkaError`, with `isConfiguration` for a wrong property.
    public convenience init(properties: KafkaProperties) throws(KafkaError) {
        try self.init { inbox throws(KafkaError) in
            try KafkaConfiguration(properties, defaults: KafkaProducer.defaults, isConsumer: false, inbox: inbox)
                .makeHandle(inbox: inbox)
        }
    }

    /// - Parameter makeHandle: makes the inner client, at first and for each replacement.
    init(makeHandle: @escaping (KafkaInbox) throws(KafkaError) -> KafkaHandle) throws(KafkaError) {
        let inbox = KafkaInbox()
        let handle = try makeHandle(inbox)
        self.inbox = inbox
        self.handle = handle
        self.makeHandle = makeHandle
        queue = rd_kafka_queue_get_main(handle.pointer)
    }

    deinit { precondition(handle == nil, "a Kafka producer is closed before it is let go") }

    /// Messages accepted and not yet reported on by librdkafka.
    public var outstanding: Int {
        handle.map { Int(rd_kafka_outq_len($0.pointer)) } ?? 0
    }

    /// The handle of a topic, for producing without a look-up by name. Does not ask the broker whether the topic
    /// exists.
    public func topic(_ name: String) throws(KafkaError) -> KafkaTopic {
        if let topic = topics[name] { return topic }
        guard let handle else { throw KafkaError.closed("producing to \(name)") }
        guard let pointer = rd_kafka_topic_new(handle.pointer, name, nil) else {
            throw KafkaError(rd_kafka_last_error(), "topic \(name)")
        }
        let topic = KafkaTopic(name: name, pointer: pointer, generation: renewals)
        topics[name] = topic
        return topic
    }

    /// Calls the handlers for acknowledged and failed messages.
    ///
    /// - Parameter timeoutMilliseconds: the longest wait for the first; 0 on an event loop.
    public func poll(timeoutMilliseconds: Int32 = 0) {
        guard let handle else { return }
        rd_kafka_poll(handle.pointer, timeoutMilliseconds)
        deliverReports()
    }

    /// Replaces the inner client, which failed permanently. Its undelivered messages are reported as failed; some of
    /// them may be stored all the same, so that producing them again can make duplicates.
    private func renew() {
        guard let old = handle else { return }
        let next: KafkaHandle
        do throws(KafkaError) {
            next = try makeHandle(inbox)
        } catch {
            // The same properties made a client before: the cause is a lack of memory or threads.
            isDefunct = true
            onError?(error)
            return
        }
        rd_kafka_purge(old.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        rd_kafka_flush(old.pointer, Self.purgeMilliseconds)
        for topic in topics.values { rd_kafka_topic_destroy(topic.pointer) }
        topics.removeAll()
        let nextQueue = rd_kafka_queue_get_main(next.pointer)
        if let nextQueue { wakeUp?.watch(nextQueue) }
        if let queue { rd_kafka_queue_destroy(queue) }
        queue = nextQueue
        handle = next
        renewals += 1
    }

    /// Makes the producer poll by itself on `eventLoop`, which is its thread from now on. Called on that loop; the
    /// producer is closed before the loop ends.
    ///
    /// - Parameter onReadable: called when ``poll()`` has something to do; by default calls it.
    public func start(on eventLoop: any EventLoop, onReadable: (() -> Void)? = nil) throws(KafkaError) {
        precondition(wakeUp == nil, "a producer is started once")
        guard let queue else { throw KafkaError.closed("start of the producer") }
        wakeUp = try QueueWakeUp(
            on: eventLoop,
            queue: queue,
            onFailure: { [weak self] error in
                self?.onError?(
                    KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "Kafka wake-up", detail: "\(error)")
                )
            },
            onWakeUp: onReadable ?? { [weak self] in self?.poll() }
        )
    }

    /// Sends queued messages without lingering and waits until all are reported on.
    ///
    /// - Throws: `KafkaError` if some were not, within `timeoutMilliseconds`.
    public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
        guard let handle else { return }
        let code = rd_kafka_flush(handle.pointer, timeoutMilliseconds)
        deliverReports()
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "flush of the producer") }
    }

    /// Gives up all unacknowledged messages; each is reported as failed. Those on their way to the broker may be stored
    /// all the same.
    public func purge() {
        guard let handle else { return }
        rd_kafka_purge(handle.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        // Purging puts the reports into the queue at once.
        rd_kafka_flush(handle.pointer, Self.purgeMilliseconds)
        deliverReports()
    }

    /// Flushes for at most `flushMilliseconds`, gives up the rest, and frees the client. Every message has been
    /// reported on when this returns. Idempotent.
    public func close(flushMilliseconds: Int32 = 5_000) {
        guard handle != nil else { return }
        wakeUp?.stop()
        wakeUp = nil
        do throws(KafkaError) {
            try flush(timeoutMilliseconds: flushMilliseconds)
        } catch {
            purge()
        }
        // A handler may have closed the producer meanwhile.
        guard let handle else { return }
        self.handle = nil
        for topic in topics.values { rd_kafka_topic_destroy(topic.pointer) }
        topics.removeAll()
        if let queue { rd_kafka_queue_destroy(queue) }
        queue = nil
        withExtendedLifetime(handle) {}
    }

    private static let purgeMilliseconds: Int32 = 5_000

    private func deliverReports() {
        repeat {
            while let delivery = inbox.takeDelivery() {
                if let time = delivery.appendedAtMilliseconds, delivery.error == nil { onAppended?(time) }
                onDelivery?(delivery.opaque, delivery.error, delivery.partition, delivery.offset)
            }
            guard let report = inbox.takeReport() else { return }
            switch report {
            case .error(let error):
                if error.isFatal, hasFatalError { renew() }
                onError?(error)
            case .log(let line): onLog?(line)
            case .assigned, .revoked, .rebalanceFailed:
                preconditionFailure("a producer has no group")
            }
        } while true
    }

    /// The inner client failed permanently.
    private var hasFatalError: Bool {
        handle.map { rd_kafka_fatal_error($0.pointer, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR } ?? false
    }
}

/// A topic of one producer. Valid until the producer is closed.
public struct KafkaTopic {
    public let name: String
    /// The topic's handle in the inner client of that time.
    let pointer: OpaquePointer
    /// See ``KafkaProducer/renewals``.
    let generation: Int
}
