import NIOCore
import PushTopics

@testable import KafkaClient
@testable import SimulatedServers

/// A worker's producer; the contract of `KafkaProducer`: in order, once, and reported on from inside `poll`.
final class SimulatedProducer: MessageProducer {
    /// A message on its way.
    private struct Message {
        var opaque: UInt64
        var record: Published
    }

    var onDelivery: ((UInt64, Int64, KafkaError?) -> Void)?
    /// Acknowledgements take longer before this time.
    var lateUntil: VirtualTime = 0

    private unowned let world: World
    private let loop: SimulatedEventLoop
    private let worker: Int
    /// Not with the broker yet, oldest first.
    private var queued: [Message] = []
    /// With the broker, the answer on its way.
    private var stored: [(opaque: UInt64, offset: Int64, error: KafkaError?)] = []
    /// Calls for outcomes and dead letters since the auditor last looked, taken or not.
    var calls = 0
    private var reports = CircularBuffer<(opaque: UInt64, offset: Int64, error: KafkaError?)>()
    private var isSending = false
    private var isClosed = false

    init(world: World, loop: SimulatedEventLoop, worker: Int) {
        self.world = world
        self.loop = loop
        self.worker = worker
    }

    func produce(
        topic: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try produce(
            topic: topic,
            partition: partition,
            key: Array(key),
            value: Array(value),
            headers: headers,
            opaque: opaque
        )
    }

    func produce(
        topic: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        guard !isClosed else { throw .alreadyClosed }
        if topic != World.names.tombstones { calls += 1 }
        guard queued.count + stored.count < world.plan.options.producerRoom else { throw .queueFull }
        var published = Published(
            topic: topic,
            partition: partition,
            key: key ?? [],
            value: value ?? [],
            headers: headers,
            worker: worker,
            time: world.clock.now
        )
        if let refusal = world.refusal(of: published), refusal.isKnownToClients { throw refusal.error }
        if topic == World.requests { published.ownedSince = world.auditor.moving(published) }
        queued.append(Message(opaque: opaque, record: published))
        send()
    }

    func poll(timeoutMilliseconds: Int32) {
        while !reports.isEmpty {
            let report = reports.removeFirst()
            onDelivery?(report.opaque, report.offset, report.error)
        }
    }

    /// Flushes if the broker can be reached, and gives up the rest.
    func close(flushMilliseconds: Int32) {
        guard !isClosed else { return }
        isClosed = true
        if world.broker.isAway { return giveUp() }
        store(queued.count)
        acknowledge(stored.count)
        poll(timeoutMilliseconds: 0)
    }

    /// The client inside broke and was replaced: which of its records the broker has is unknown.
    func breakDown() {
        guard !isClosed else { return }
        storeSome()
        purge()
        wake()
    }

    /// The process is gone; of what was under way a part arrives.
    func die() {
        isClosed = true
        storeSome()
        queued = []
        stored = []
        reports = []
    }

    private func storeSome() {
        guard !world.broker.isAway, !queued.isEmpty else { return }
        for message in queued.prefix(world.dice.pick(0...queued.count)) { _ = store(message) }
    }

    private func purge() {
        for opaque in stored.map(\.opaque) + queued.map(\.opaque) { reports.append((opaque, -1, .purged)) }
        stored = []
        queued = []
    }

    private func store(_ count: Int) {
        for message in queued.prefix(count) { stored.append(store(message)) }
        queued.removeFirst(count)
    }

    private func store(_ message: Message) -> (opaque: UInt64, offset: Int64, error: KafkaError?) {
        if let refusal = world.refusal(of: message.record) { return (message.opaque, -1, refusal.error) }
        return (message.opaque, world.published(message.record), nil)
    }

    private func giveUp() {
        purge()
        poll(timeoutMilliseconds: 0)
    }

    /// One batch at a time.
    private func send() {
        guard !isSending, !queued.isEmpty else { return }
        isSending = true
        world.clock.after(world.broker.roundTrip()) { [weak self] in self?.arrive() }
    }

    private func arrive() {
        guard !isClosed else { return }
        isSending = false
        // A part, so that the next one goes with another batch.
        let count = min(queued.count, world.dice.pick(1...64))
        store(count)
        let late = world.clock.now < lateUntil ? world.dice.time(100...1500) : 0
        let total = stored.count
        loop.deliver(after: late + world.dice.time(1...10)) { [weak self] in
            guard let self, !isClosed else { return }
            acknowledge(min(total, stored.count))
            poll(timeoutMilliseconds: 0)
        }
        send()
    }

    private func acknowledge(_ count: Int) {
        for message in stored.prefix(count) { reports.append(message) }
        stored.removeFirst(count)
    }

    private func wake() {
        loop.deliver(after: 0) { [weak self] in self?.poll(timeoutMilliseconds: 0) }
    }
}

/// A record that a worker publishes.
struct Published {
    var topic: String
    var partition: Int32?
    var key: [UInt8]
    var value: [UInt8]
    var headers: [(String, [UInt8])]
    /// The worker that published it, and the time.
    var worker: Int
    var time: VirtualTime
    /// Of a record that is moved: since when the worker has had its partition; nil: it has it no more.
    var ownedSince: VirtualTime?
}
