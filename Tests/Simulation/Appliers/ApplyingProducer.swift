import PushTopics

@testable import KafkaClient
@testable import SimulatedServers

/// An applier's producer. Its records reach the broker in any order, and also after the process is gone; now and then
/// one is refused.
final class ApplyingProducer: MessageProducer {
    var onDelivery: (UInt64, KafkaError?) -> Void = { _, _ in }
    var onReadable: () -> Void = {}
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    private var reports: [(opaque: UInt64, error: KafkaError?)] = []
    private var isClosed = false

    init(world: ApplyingWorld, loop: SimulatedEventLoop) {
        self.world = world
        self.loop = loop
    }

    /// Dead letters.
    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        let source = headers.text("source-topic") ?? ""
        let place = ApplyingLog.Place(
            partition: headers.text("source-partition").flatMap { Int32($0) } ?? -1,
            offset: headers.text("source-offset").flatMap { Int64($0) } ?? -1
        )
        send(opaque) { world in world.broker.log(named: source)?.bury(place) }
    }

    /// Tombstones.
    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        send(opaque) { world in world.broker.tell(key: key ?? [], value: value ?? []) }
    }

    private func send(_ opaque: UInt64, _ store: @escaping (ApplyingWorld) -> Void) {
        let isRefused = world.dice.chance(5)
        world.clock.after(world.broker.roundTrip()) { [weak self, world] in
            if !isRefused { store(world) }
            self?.answer(opaque, isRefused ? KafkaError.purged : nil)
        }
    }

    private func answer(_ opaque: UInt64, _ error: KafkaError?) {
        loop.deliver(after: world.dice.time(1...10)) { [weak self] in
            guard let self, !isClosed else { return }
            reports.append((opaque, error))
            onReadable()
        }
    }

    func poll(timeoutMilliseconds: Int32) {
        while !reports.isEmpty {
            let report = reports.removeFirst()
            onDelivery(report.opaque, report.error)
        }
    }

    func close(flushMilliseconds: Int32) { isClosed = true }
}
