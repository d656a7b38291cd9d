import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport

@testable import PipelineTestSupport
@testable import TokenRoles

/// One reading of a ``ListHarvest``, whose acknowledgements and leases the test gives.
final class HarvestProbe: Sendable {
    private let result: EventLoopFuture<Outcome>
    private let eventLoop: any EventLoop
    private let tuples: AsyncStream<FeedbackTuple>
    /// One for each time a reading could not begin.
    private let refusals: AsyncStream<Void>
    private let state: NIOLoopBound<State>

    private struct Outcome: Sendable {
        var reading: HarvestStateMachine.Reading
        var error: (any Error)?
    }

    private final class State: FeedbackLease, BrokerCheck {
        var list: ListHarvest?
        var published = 0
        var waiting: [() -> Void] = []
        var hasEnded = false
        var answer = HarvestStateMachine.LeaseAnswer.held
        var isBrokerThere = true
        let refused: () -> Void

        init(refused: @escaping () -> Void) {
            self.refused = refused
        }

        func hold(_ answered: @escaping (HarvestStateMachine.LeaseAnswer, (any Error)?) -> Void) {
            if answer != .held { refused() }
            answered(answer, nil)
        }

        func release(_ done: @escaping () -> Void) { done() }

        func check(_ answered: @escaping ((any Error)?) -> Void) {
            if !isBrokerThere { refused() }
            answered(isBrokerThere ? nil : ChannelError.connectPending)
        }
    }

    init(
        port: Int,
        tls: TLSContext? = nil,
        proxy: ProxySettings? = nil,
        lease: HarvestStateMachine.LeaseAnswer = .held,
        isBrokerThere: Bool = true,
        configure: (inout HarvestStateMachine.Settings) -> Void = { _ in }
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let (tuples, continuation) = AsyncStream<FeedbackTuple>.makeStream()
        let (refusals, refused) = AsyncStream<Void>.makeStream()
        let context = try tls ?? FeedbackService.PKI.shared.get().context()
        let source = FeedbackConnection.Source(
            environment: "sandbox",
            bundleID: FeedbackService.bundleID,
            address: HostPort(host: "127.0.0.1", port: port),
            proxy: proxy,
            tls: { context }
        )
        var settings = HarvestStateMachine.Settings(
            interval: .seconds(3600),
            lease: .seconds(60),
            connectTimeout: .seconds(30)
        )
        configure(&settings)
        let promise = eventLoop.makePromise(of: Outcome.self)
        self.eventLoop = eventLoop
        self.tuples = tuples
        self.refusals = refusals
        result = promise.futureResult
        state = try await eventLoop.submit { [settings] in
            let state = State { refused.yield() }
            state.answer = lease
            state.isBrokerThere = isBrokerThere
            let list = ListHarvest(
                source: source,
                settings: settings,
                delay: .zero,
                eventLoop: eventLoop,
                broker: state,
                lease: state,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                onReading: { [unowned state] reading, error in
                    state.hasEnded = true
                    _ = state.list?.stop()
                    continuation.finish()
                    promise.succeed(Outcome(reading: reading, error: error))
                },
                publish: { [unowned state] tuples, acknowledged in
                    state.published += tuples.count
                    for tuple in tuples {
                        state.waiting.append(acknowledged)
                        continuation.yield(tuple)
                    }
                }
            )
            state.list = list
            list.start()
            return NIOLoopBound(state, eventLoop: eventLoop)
        }.get()
    }

    /// The first reading, when it is over.
    var reading: HarvestStateMachine.Reading { get async throws { try await result.get().reading } }
    /// The connection's error at its end.
    var error: (any Error)? { get async throws { try await result.get().error } }

    /// The next tuples in the order of their publication; fewer if the reading ends before.
    func next(_ count: Int) async -> [FeedbackTuple] {
        guard count > 0 else { return [] }
        var received: [FeedbackTuple] = []
        for await tuple in tuples {
            received.append(tuple)
            if received.count == count { break }
        }
        return received
    }

    /// Returns when a reading could not begin so many times.
    func refusals(_ count: Int) async {
        var left = count
        for await _ in refusals {
            left -= 1
            if left == 0 { return }
        }
    }

    func acknowledge(_ count: Int) async throws {
        try await eventLoop.submit { [state] in
            for _ in 0..<count { state.value.waiting.removeFirst()() }
        }.get()
    }

    /// Sets the answer of Redis from now on.
    func answerLeases(_ answer: HarvestStateMachine.LeaseAnswer) async throws {
        try await eventLoop.submit { [state] in state.value.answer = answer }.get()
    }

    func setBroker(isThere: Bool) async throws {
        try await eventLoop.submit { [state] in state.value.isBrokerThere = isThere }.get()
    }

    func stop() -> EventLoopFuture<Void> {
        eventLoop.flatSubmit { [state] in state.value.list?.stop() ?? self.eventLoop.makeSucceededVoidFuture() }
    }

    var published: Int { get async throws { try await eventLoop.submit { [state] in state.value.published }.get() } }
    var waiting: Int { get async throws { try await eventLoop.submit { [state] in state.value.waiting.count }.get() } }
    var hasEnded: Bool { get async throws { try await eventLoop.submit { [state] in state.value.hasEnded }.get() } }

    /// Lets the event loop look at its sockets, several times: all that may be read is read by then.
    func turn() async throws {
        for _ in 0..<10 { try await eventLoop.submit {}.get() }
    }
}
