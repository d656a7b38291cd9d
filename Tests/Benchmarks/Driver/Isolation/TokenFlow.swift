import Foundation
import KafkaClient
import LocalPipeline
import PushTopics
import Synchronization

/// Registrations and feedback that flow while roles come and go, and at the end the comparison with Redis.
///
/// They are of bundles that nothing is sent to.
final class TokenFlow {
    /// The result of the comparison.
    struct Result: Equatable, Sendable {
        /// Acknowledged by the broker.
        var registrations = 0
        /// Of these, not in Redis.
        var registrationsLost = 0
        /// Tuples in push.feedback.
        var feedback = 0
        /// Of these, not in Redis.
        var feedbackLost = 0
        /// Tuples that were read of the service's lists, and are not in push.feedback: a harvester that was killed held
        /// them.
        var feedbackUnpublished = 0
        /// Tokens in a state that nobody asked for.
        var strangeTokens = 0
    }

    /// Shared with the pump's thread and the task that lists feedback.
    private final class Desk: Sendable {
        struct State {
            var orders = RegistrationPump.Orders.publish
            var progress: RegistrationPump.Progress?
            var books: TokenBooks?
            var failure: String?
        }

        let state = Mutex(State())

        func fail(_ text: String) {
            state.withLock { $0.failure = $0.failure ?? text }
        }
    }

    static let topics = ["com.example.post", "com.example.tide"]
    static let devices = 2000
    /// Of each topic: half of the registrations are of these.
    private static let hotDevices = 4
    /// Times lie in the past by so much: a registration may not be dated ahead.
    private static let ageSeconds = 7200
    /// Feedback that comes into a list once in an interval.
    private static let tuplesPerListing = 50
    private static let listingInterval = Duration.seconds(1)
    /// Time for the last changes.
    private static let patience = Duration.seconds(30)

    private let stack: IsolationStack
    private let sandbox: SandboxControl
    private let stream: RegistrationStream
    private let desk = Desk()
    private let listings: AsyncStream<Int>.Continuation
    private let lister: Task<Void, Never>
    private var listed = 0
    private var nextListing = ContinuousClock.now

    /// - Parameter stack: has a service with feedback.
    init(_ stack: IsolationStack) throws {
        self.stack = stack
        let sandbox = try stack.feedbackService()
        self.sandbox = sandbox
        let start = UInt32(Date().timeIntervalSince1970) - UInt32(Self.ageSeconds)
        let stream = RegistrationStream(
            seed: 1,
            environment: IsolationConfiguration.healthyEnvironment,
            topics: Self.topics,
            tokens: try Self.topics.map { try stack.tokens(of: $0, count: Self.devices) },
            start: start,
            isHot: { $0.device < Self.hotDevices }
        )
        self.stream = stream
        let (numbers, listings) = AsyncStream.makeStream(of: Int.self)
        self.listings = listings
        lister = Self.lister(of: numbers, sandbox, stream, desk)
    }

    /// Makes the service find apps missing, once for each number.
    private static func lister(
        of numbers: AsyncStream<Int>,
        _ sandbox: SandboxControl,
        _ stream: RegistrationStream,
        _ desk: Desk
    ) -> Task<Void, Never> {
        Task {
            do {
                for await number in numbers {
                    try await sandbox.listFeedback(
                        topic: topics[number % topics.count],
                        first: number * tuplesPerListing % devices,
                        count: tuplesPerListing,
                        timestamp: Int64(stream.time(afterSeconds: number, disorder: 0))
                    )
                }
            } catch {
                desk.fail("feedback cannot be listed: \(error)")
            }
        }
    }

    /// Begins to publish and to follow.
    func start() {
        let places = (0..<Int32(stack.partitions)).map {
            KafkaTopicPartition(topic: TopicNames().feedback, partition: $0)
        }
        let (brokers, stream, desk) = (stack.brokers, stream, desk)
        Thread.detachNewThread {
            do {
                let pump = try RegistrationPump(
                    brokers: brokers,
                    stream: stream,
                    feedback: places,
                    desk: RegistrationPump.Desk(
                        orders: { desk.state.withLock { $0.failure == nil ? $0.orders : .end } },
                        tell: { progress in desk.state.withLock { $0.progress = progress } },
                        fail: desk.fail
                    )
                )
                let books = pump.run()
                desk.state.withLock { $0.books = books }
            } catch {
                desk.fail("\(error)")
            }
        }
    }

    /// Does what is due: to be called often. Throws when the flow has failed.
    func turn() throws {
        if let failure = desk.state.withLock({ $0.failure }) { throw BenchmarkError("registrations: \(failure)") }
        guard nextListing <= .now else { return }
        nextListing = .now + Self.listingInterval
        listings.yield(listed)
        listed += 1
    }

    /// Ends the thread and the task; returns at once. Idempotent.
    func stop() {
        listings.finish()
        desk.state.withLock { $0.orders = .end }
    }

    /// The pump's thread has ended, or failed.
    var hasStopped: Bool { desk.state.withLock { $0.books != nil || $0.failure != nil } }

    /// Ends the flow and compares, until everything is applied or not expected to be any more.
    ///
    /// - Parameter pause: lets a little time pass.
    func finish(pause: () throws -> Void) async throws -> Result {
        let deadline = ContinuousClock.now + Self.patience
        listings.finish()
        await lister.value
        desk.state.withLock { $0.orders = .follow }
        var taken = try await takenTuples()
        while !isPublished(taken), ContinuousClock.now < deadline {
            try pause()
            taken = try await takenTuples()
        }
        desk.state.withLock { $0.orders = .end }
        while !hasStopped { try pause() }
        guard let books = desk.state.withLock({ $0.books }) else {
            throw BenchmarkError("registrations: \(desk.state.withLock { $0.failure ?? "no books" })")
        }
        var audit = try compare(books)
        while audit.registrationsLost + audit.feedbackLost > 0, ContinuousClock.now < deadline {
            try pause()
            audit = try compare(books)
        }
        for example in audit.examples { say(example) }
        return Result(
            registrations: books.registrations,
            registrationsLost: audit.registrationsLost,
            feedback: books.feedback,
            feedbackLost: audit.feedbackLost,
            feedbackUnpublished: max(0, (taken ?? 0) - books.feedback),
            strangeTokens: audit.strange + books.strangeTuples
        )
    }

    /// Tuples that harvesters have read of the service's lists; nil: there are more in them.
    private func takenTuples() async throws -> Int? {
        let lists = try await sandbox.stats().topics.filter { Self.topics.contains($0.key) }.values.map(\.feedbackList)
        return lists.allSatisfy { $0.waiting == 0 } ? lists.reduce(0) { $0 + $1.taken } : nil
    }

    /// Everything published is acknowledged, and everything read of the lists is in push.feedback.
    private func isPublished(_ taken: Int?) -> Bool {
        guard let taken, let progress = desk.state.withLock({ $0.progress }) else { return false }
        return progress.isAcknowledged && progress.feedback >= taken
    }

    private func compare(_ books: TokenBooks) throws -> TokenBooks.Audit {
        let states = try books.states(
            redisURL: stack.redisURL,
            environment: IsolationConfiguration.healthyEnvironment
        )
        let all = (0..<Int32(stack.partitions)).map { ($0, Int64.max) }
        return books.audit(states, due: Dictionary(uniqueKeysWithValues: all))
    }
}
