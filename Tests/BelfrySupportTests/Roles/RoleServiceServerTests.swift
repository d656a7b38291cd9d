import Logging
import NIOCore
import Synchronization
import Testing

@testable import BelfrySupport

@Suite("The life of a role", .timeLimit(.minutes(1)))
struct RoleServiceServerTests {
    private struct Failure: Error {}

    /// The calls, in their order.
    private final class Story: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func tell(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Its two parts are their names, each on a thread of its own.
    private final class Twins: Role {
        static let name = "twins"
        static let summary = ""
        let loops = ["first", "second"]
        let context: RoleContext
        let story = Story()
        /// The number of the part that cannot start; nil: all can.
        let failing: Int?
        /// Its drain waits for what never comes.
        let isStuck: Bool
        static func stopLimit(_ configuration: BelfryConfiguration) -> Duration { .milliseconds(10) }
        /// Ends the drain that is stuck.
        let release = AsyncStream<Void>.makeStream()
        private let service = Mutex<RoleService<Twins>?>(nil)

        init(_ context: RoleContext) {
            self.context = context
            failing = nil
            isStuck = false
        }

        init(failing: Int? = nil, isStuck: Bool = false) {
            self.isStuck = isStuck
            context = RoleContext(BelfryConfiguration(), logger: Logger(label: "test"))
            self.failing = failing
        }

        /// Runs until `cause` ends it, which has come already.
        func run(untilFailure cause: String, stopLimit: StopLimit? = nil) async throws {
            let service = RoleService(
                self,
                health: context.health,
                failedDrain: isStuck && stopLimit == nil ? .milliseconds(10) : .seconds(60),
                stopLimit: stopLimit,
                logger: context.logger
            )
            self.service.withLock { $0 = service }
            context.health.fail(cause)
            try await service.run()
        }

        /// Notes a call, and what operators are told meanwhile.
        private func tell(_ call: String) async {
            guard let service = service.withLock({ $0 }) else { return story.tell(call) }
            let metrics = MetricsText.render(context.health.metrics(now: .init(.now())) + (await service.metrics()))
            let loops = loops.filter { metrics.contains("{loop=\"\($0)\"}") }
            let parts = loops.filter { metrics.contains("{part=\"\($0)\"}") }
            let obstacles = await service.readiness().obstacles
            story.tell("\(call): loops \(loops), parts \(parts), obstacles \(obstacles)")
        }

        func withChecks(_ work: () async throws -> Void) async throws {
            await tell("check")
            try await work()
            await tell("no failure")
        }

        func start(on threads: RoleThreads, _ parts: inout [NIOLoopBound<String>]) async throws {
            for (number, eventLoop) in threads.eventLoops.enumerated() {
                await tell("start \(number)")
                if number == failing { throw Failure() }
                let name = loops[number]
                parts.append(try await eventLoop.submit { NIOLoopBound(name, eventLoop: eventLoop) }.get())
                threads.onFailure(on: eventLoop) { [story] in
                    story.tell("undo \(number)")
                    return eventLoop.makeSucceededVoidFuture()
                }
            }
        }

        func drain(_ parts: [NIOLoopBound<String>]) async throws {
            await tell("drain \(parts.count)")
            guard isStuck else { return }
            for await _ in release.stream {}
        }

        func close(_ parts: [NIOLoopBound<String>]) async throws {
            await tell("close \(parts.count)")
        }

        static func report(of part: String) -> String { part }

        func metrics(_ reports: [String]) -> [MetricFamily] {
            var parts = MetricFamily("parts", .gauge, "")
            for report in reports { parts.add(1, [.init("part", report)]) }
            return [parts]
        }

        static func obstacles(_ reports: [String]) -> [Readiness.Obstacle] {
            reports.map { .init(.redis, "\($0) waits") }
        }
    }

    private static let isAbsent = #"loops [], parts [], obstacles ["the twins is starting or stopping"]"#

    @Test("Parts are asked and loops watched from the end of the start; parts until they are drained, loops to the end")
    func order() async throws {
        let role = Twins()
        await #expect(throws: RoleFailure(description: "over")) { try await role.run(untilFailure: "over") }
        #expect(
            role.story.all == [
                "check: \(Self.isAbsent)",
                "start 0: \(Self.isAbsent)",
                "start 1: \(Self.isAbsent)",
                #"drain 2: loops ["first", "second"], parts ["first", "second"], "#
                    + #"obstacles ["first waits", "second waits"]"#,
                #"close 2: loops ["first", "second"], parts [], obstacles ["the twins is starting or stopping"]"#,
            ]
        )
    }

    @Test("A role that cannot go on ends although its drain waits for what never comes")
    func stuckDrain() async throws {
        let role = Twins(isStuck: true)
        await #expect(throws: RoleFailure(description: "over")) { try await role.run(untilFailure: "over") }
        // The drain may still be about to tell that it has begun.
        #expect(role.story.all.last { !$0.hasPrefix("drain 2: ") }?.hasPrefix("close 2: ") == true)
    }

    @Test("A role whose stop does not end is told of once its limit has passed, and one that is at work is not")
    func overdueStop() async throws {
        let role = Twins(isStuck: true)
        let story = Story()
        let limit = StopLimit { limit in
            story.tell("not ended within \(limit)")
            role.release.continuation.finish()
        }
        await #expect(throws: RoleFailure(description: "over")) {
            try await role.run(untilFailure: "over", stopLimit: limit)
        }
        #expect(story.all == ["not ended within 0.01 seconds"])
        // Nothing has begun to stop.
        withExtendedLifetime(StopLimit { _ in Issue.record("it is at work") }) {}
    }

    @Test("A start that fails half-way drains and closes the parts that have started, undoes the rest, and says why")
    func halfway() async throws {
        let role = Twins(failing: 1)
        await #expect(throws: Failure.self) { try await role.run(untilFailure: "not the cause") }
        #expect(
            role.story.all == [
                "check: \(Self.isAbsent)",
                "start 0: \(Self.isAbsent)",
                "start 1: \(Self.isAbsent)",
                "drain 1: \(Self.isAbsent)",
                "close 1: \(Self.isAbsent)",
                "undo 0",
            ]
        )
    }

    @Test("A role is made of its configuration, and its troubles are those that operators hear of")
    func making() async throws {
        let service = try RoleService<Twins>(BelfryConfiguration(), logger: Logger(label: "test"))
        service.health.fail("over")
        await #expect(throws: RoleFailure(description: "over")) { try await service.run() }
        #expect(await service.readiness().obstacles == ["the twins is starting or stopping"])
    }

    @Test("A call on every loop waits for all of them, also for those that end later")
    func everyLoop() async throws {
        let story = Story()
        try await RoleThreads.run(3) { threads in
            var bound: [NIOLoopBound<Int>] = []
            for (number, eventLoop) in threads.eventLoops.enumerated() {
                bound.append(try await eventLoop.submit { NIOLoopBound(number, eventLoop: eventLoop) }.get())
            }
            let eventLoops = threads.eventLoops
            try await bound.onEachLoop { number in
                eventLoops[number].assertInEventLoop()
                let promise = eventLoops[number].makePromise(of: Void.self)
                eventLoops[number].execute {
                    story.tell("\(number)")
                    promise.succeed()
                }
                return promise.futureResult
            }
            #expect(story.all.sorted() == ["0", "1", "2"])
        }
    }
}
