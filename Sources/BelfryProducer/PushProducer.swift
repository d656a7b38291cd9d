import KafkaClient
import NIOCore
import NIOPosix
import PushSchemas
import Synchronization

/// Publishes requests into one lane, and tells where their records are.
///
/// A request may have any number of tokens: it is cut into records by the keys of its bundle, of many tokens each, and
/// judged by the rules of the workers before the first record leaves. Records are acknowledged by all in-sync replicas,
/// stored once even when the client sends again, and stand in the order of the calls, key by key. A service that uses
/// several lanes has a producer for each: what waits for room in one does not suspend publishers of another.
///
/// Safe to use from any task and thread. It has a thread of its own, which it never leaves to callers. Close it when it
/// is no longer used.
public final class PushProducer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let desk: NIOLoopBound<DeliveryDesk>
    /// The end of a close that was asked for.
    private let closing = Mutex<AwaitedResult<Void>?>(nil)

    /// Makes a producer. Brokers are contacted in the background: whether they can be reached shows in the first
    /// delivery.
    ///
    /// - Throws: ``ProducerError/misconfigured(_:)``
    public convenience init(_ configuration: ProducerConfiguration) async throws(ProducerError) {
        try await self.init(configuration) {}
    }

    /// - Parameter onFull: called, on the producer's thread, when records begin to wait for room.
    init(
        _ configuration: ProducerConfiguration,
        onFull: @escaping @Sendable () -> Void
    ) async throws(ProducerError) {
        let properties = try configuration.kafkaProperties()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        do {
            desk = try await eventLoop.submit {
                let desk = try DeliveryDesk(
                    properties,
                    topic: configuration.topic,
                    on: eventLoop,
                    onNotice: configuration.onNotice,
                    onFull: onFull
                )
                return NIOLoopBound(desk, eventLoop: eventLoop)
            }.get()
        } catch {
            try? await group.shutdownGracefully()
            throw .misconfigured("\(error)")
        }
        self.group = group
    }

    deinit {
        guard closing.withLock({ $0 == nil }) else { return }
        let (group, desk) = (group, desk)
        desk.eventLoop.execute {
            desk.value.abandon()
            group.shutdownGracefully { _ in }
        }
    }

    /// Publishes a request and waits for the acknowledgement of all its records.
    ///
    /// Suspends while the client's queue is full, too; see ``ProducerConfiguration/queueRecords``. Cancelling the task
    /// does not take back what was handed over.
    ///
    /// - Parameters:
    ///   - request: with `tokens`, `packedTokens` or `channel`; of any size. Its records take about as much memory
    ///     again, and 8 bytes a token, until they have their ends.
    ///   - bundle: the app, which the keys of the records name.
    /// - Returns: the records, at least one, those of one key in the order of their tokens.
    /// - Throws: ``ProducerError``
    public func publish(
        _ request: PushSendRequest,
        to bundle: PushBundle
    ) async throws(ProducerError) -> [PublishedRecord] {
        try await enqueue(request, to: bundle).published()
    }

    /// Publishes a request, and returns when all its records are in the client's queue: the way to have many requests
    /// under way from one task.
    ///
    /// - Throws: ``ProducerError``, but not `notDelivered`.
    public func enqueue(
        _ request: PushSendRequest,
        to bundle: PushBundle
    ) async throws(ProducerError) -> PendingRequest {
        let request = try CutRequest(request, to: bundle)
        let desk = desk
        let handedOver = AwaitedResult<Void>()
        let delivered = AwaitedResult<DeliveryResult>()
        closing.withLock { closing in
            // A loop that has ended would answer nothing.
            guard closing == nil else { return handedOver.fail(.closed) }
            desk.eventLoop.execute { desk.value.takeRequest(request, handedOver: handedOver, delivered: delivered) }
        }
        try await handedOver.get()
        return PendingRequest(delivered: delivered)
    }

    /// Waits until every record taken before has its end, acknowledged or failed; then ends the client and its thread.
    /// Requests that come later are refused. Every call waits for the same end, however many there are.
    public func close() async {
        let ended = AwaitedResult<Void>()
        let earlier = closing.withLock { closing in
            defer { closing = closing ?? ended }
            return closing
        }
        if let earlier {
            try? await earlier.get()
            return
        }
        let desk = desk
        let deskClosed = AwaitedResult<Void>()
        desk.eventLoop.execute { desk.value.close(deskClosed) }
        try? await deskClosed.get()
        try? await group.shutdownGracefully()
        ended.succeed(())
    }
}

/// A request whose records are in the client's queue.
public struct PendingRequest: Sendable {
    let delivered: AwaitedResult<DeliveryResult>

    /// Waits for the ends of all records.
    ///
    /// - Returns: as ``PushProducer/publish(_:to:)``.
    /// - Throws: ``ProducerError/notDelivered(_:)``, ``ProducerError/closed``
    public func published() async throws(ProducerError) -> [PublishedRecord] {
        let result = try await delivered.get()
        guard let reason = result.reason else { return result.published }
        throw .notDelivered(
            PartialDelivery(
                published: result.published,
                failedTokens: result.failedTokens.sorted(),
                reason: reason
            )
        )
    }
}
