import BelfrySupport
import KafkaClient
import NIOCore
import PipelineCore
import PushTopics
import Synchronization

/// A worker's ``ControlsFollower``, on a thread of its own.
struct ControlsThread: Sendable {
    /// All levers: once push.controls was read to its end, then with each change. The latest ones, if they are not
    /// taken.
    let changes: AsyncStream<AppControls>
    private let follower: NIOLoopBound<ControlsFollower>
    private let known: Known

    private static let clientID = "belfry-worker-controls"

    private final class Known: Sendable {
        struct State {
            var completeAsOf: MonotonicTime?
            /// Levers that are set, by their kinds.
            var counts: [AppControl.Lever: Int] = [:]
        }

        let state = Mutex(State())
    }

    /// Starts it on `eventLoop`.
    ///
    /// - Parameter partitions: the number of partitions of push.controls.
    init(_ settings: ShardSettings, _ context: RoleContext, partitions: Int, on eventLoop: any EventLoop) async throws {
        let (configuration, logger) = (context.configuration, context.logger)
        let (changes, continuation) = AsyncStream.makeStream(
            of: AppControls.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let known = Known()
        self.changes = changes
        self.known = known
        follower = try await eventLoop.submit {
            let reader = try KafkaReader(
                properties: configuration.kafka.readerProperties(clientID: Self.clientID, waitMilliseconds: 100)
            )
            KafkaReports(health: context.health, logger: logger).watch(reader, named: "reader of push.controls")
            let follower = ControlsFollower(
                eventLoop: eventLoop,
                reader: reader,
                topic: settings.names.controls,
                partitions: partitions,
                logger: logger
            ) { controls in
                known.state.withLock { $0.counts = controls.counts }
                continuation.yield(controls)
            } onComplete: { time in
                known.state.withLock { $0.completeAsOf = time }
            }
            follower.start()
            return NIOLoopBound(follower, eventLoop: eventLoop)
        }.get()
    }

    func report(now: MonotonicTime) -> WorkerReport.Levers {
        let state = known.state.withLock { $0 }
        return .init(age: state.completeAsOf.map { $0.elapsed(until: now) }, counts: state.counts)
    }

    /// Stops the follower; called after the shards have stopped.
    func stop() async throws {
        try await follower.eventLoop.submit { follower.value.stop() }.get()
    }
}
