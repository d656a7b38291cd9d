import CRdKafka
import Glibc
import NIOCore
import NIOPosix

/// Wakes an event loop when a librdkafka queue gets its first element: no polling, no librdkafka thread in Swift.
///
/// librdkafka writes to an eventfd when it enqueues to an *empty* queue. Two rules follow. The descriptor is read
/// before the handler drains the queue: in the other order, the signal of an element that comes in between would be
/// lost. And the handler must drain the queue to its end sooner or later: elements left in it give no signal.
///
/// Everything happens on the event loop; `stop()` is called before the loop ends.
final class QueueWakeUp {
    private let descriptor: CInt
    private var queue: OpaquePointer?
    private var channel: (any Channel)?
    private var onWakeUp: (() -> Void)?
    /// Called at the next signal of our own.
    private var awaiting: [() -> Void] = []
    /// Such a signal, as the descriptor counts it: librdkafka adds one at a time, and never so often.
    private static let ownSignal: UInt64 = 1 << 32

    /// - Parameters:
    ///   - onFailure: the event loop cannot watch the descriptor.
    ///   - onWakeUp: called once at first, since the queue may have elements already, and then at every signal.
    init(
        on eventLoop: any EventLoop,
        queue: OpaquePointer,
        onFailure: @escaping (any Error) -> Void,
        onWakeUp: @escaping () -> Void
    ) throws(KafkaError) {
        eventLoop.preconditionInEventLoop()
        descriptor = belfry_eventfd()
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "Kafka wake-up descriptor", detail: reason)
        }
        self.onWakeUp = onWakeUp
        watch(queue)
        open(on: eventLoop, onFailure: onFailure)
        eventLoop.assumeIsolated().execute { [weak self] in self?.onWakeUp?() }
    }

    deinit { precondition(queue == nil, "a wake-up is stopped before it is let go") }

    /// Watches another queue instead, for example the one that `watched` is forwarded to from now on.
    func watch(_ next: OpaquePointer) {
        if let queue { rd_kafka_queue_io_event_enable(queue, -1, nil, 0) }
        queue = next
        var one: UInt64 = 1
        rd_kafka_queue_io_event_enable(next, descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Calls `body` once in the next round of the event loop; the handler only if the queue has a signal, too.
    func nextRound(_ body: @escaping () -> Void) {
        guard queue != nil else { return }
        awaiting.append(body)
        guard awaiting.count == 1 else { return }
        var signal = Self.ownSignal
        _ = write(descriptor, &signal, MemoryLayout<UInt64>.size)
    }

    /// - Parameter count: of the descriptor, since it was read last.
    private func signalled(_ count: UInt64) {
        if Self.ownSignal <= count {
            let due = awaiting
            awaiting = []
            for body in due { body() }
        }
        if count % Self.ownSignal > 0 { onWakeUp?() }
    }

    /// No handler is called after this. Idempotent.
    func stop() {
        guard let queue else { return }
        // First the writer, then the descriptor: its number may be reused right after.
        rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
        self.queue = nil
        onWakeUp = nil
        awaiting = []
        channel?.close(promise: nil)
        channel = nil
    }

    private func open(on eventLoop: any EventLoop, onFailure: @escaping (any Error) -> Void) {
        let handler = NIOLoopBound(WakeUpHandler { [weak self] in self?.signalled($0) }, eventLoop: eventLoop)
        NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler.value) }
            }
            .takingOwnershipOfDescriptor(input: descriptor)
            .assumeIsolated()
            .whenComplete { [descriptor] result in
                switch result {
                case .success(let channel):
                    if self.queue == nil { channel.close(promise: nil) } else { self.channel = channel }
                case .failure(let error):
                    self.stop()
                    close(descriptor)
                    onFailure(error)
                }
            }
    }
}

/// Reads the eventfd until it is empty, then calls the handler with what it has counted.
private final class WakeUpHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onReadComplete: (UInt64) -> Void
    private var count: UInt64 = 0

    init(onReadComplete: @escaping (UInt64) -> Void) {
        self.onReadComplete = onReadComplete
    }

    /// The eight bytes are the sum of the signals since the last read.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while let sum = bytes.readInteger(endianness: .host, as: UInt64.self) { count += sum }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let read = count
        count = 0
        onReadComplete(read)
    }
}
