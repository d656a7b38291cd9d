import Logging
import NIOCore
import Synchronization
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport

/// A role that is asked to read its configuration again.
@Suite("Reading the configuration again", .timeLimit(.minutes(1)))
struct ReloadDeskServerTests {
    /// Stands for the file: its text may change.
    private final class File: Sendable {
        private let text = Mutex("")

        func write(_ text: String) { self.text.withLock { $0 = text } }

        func inspect() throws(ConfigurationError) -> ConfigurationInspection {
            try BelfryConfiguration.inspect(
                yaml: text.withLock { $0 },
                file: "belfry.yaml",
                directory: nil,
                variables: [:],
                requiresEnvironments: false
            )
        }
    }

    /// A worker by name. Tells which configurations it was to use, and stops at the last that it expects.
    private final class Follower: Role {
        static let name = "worker"
        static let summary = ""
        static let sections: Set = ["worker", "log"]
        let context: RoleContext
        let used = Mutex<[Int]>([])
        let last: Int

        convenience init(_ context: RoleContext) { self.init(context, last: 0) }

        init(_ context: RoleContext, last: Int) {
            self.context = context
            self.last = last
        }

        func withChecks(_ work: () async throws -> Void) async throws { try await work() }

        func start(on threads: RoleThreads, _ parts: inout [NIOLoopBound<Int>]) async throws {
            let eventLoop = threads.eventLoop
            parts.append(try await eventLoop.submit { NIOLoopBound(1, eventLoop: eventLoop) }.get())
        }

        func use(_ configuration: BelfryConfiguration, _ parts: [NIOLoopBound<Int>]) async throws {
            #expect(parts.count == 1)
            let value = configuration.worker.maxUncommitted
            used.withLock { $0.append(value) }
            if value == last { context.health.fail("enough") }
        }

        func close(_ parts: [NIOLoopBound<Int>]) async throws {}
        static func report(of part: Int) -> Int { part }
        func metrics(_ reports: [Int]) -> [MetricFamily] { [] }
        static func obstacles(_ reports: [Int]) -> [Readiness.Obstacle] { [] }
    }

    private let file = File()
    private let lines = LogLines()

    private func makeDesk(
        _ text: String,
        requests: AsyncStream<Void> = AsyncStream { $0.finish() }
    ) throws -> ReloadDesk {
        file.write(text)
        return ReloadDesk(
            try file.inspect(),
            of: Follower.self,
            requests: requests,
            logger: lines.logger
        ) { [file] () throws(ConfigurationError) in try file.inspect() }
    }

    private func metrics(_ desk: ReloadDesk) -> String {
        MetricsText.render(ReloadDesk.table.families(of: [desk.status]))
    }

    @Test("What may change is applied and told; what may not is warned of, counted and kept in sight")
    func accepted() async throws {
        let desk = try makeDesk("worker: {max-uncommitted: 5}")
        #expect(desk.status == .init(reloads: 0, refusedReloads: 0, restartNeeded: []))
        file.write("worker: {max-uncommitted: 6, shards: 9}\nregistrar: {batch: 7}")
        let configuration = try #require(await desk.readAgain())
        #expect(configuration.worker.maxUncommitted == 6 && configuration.worker.shards == 2)
        #expect(
            lines.metadata(of: "setting changed") == [["key": "worker.max-uncommitted", "old": "5", "new": "6"]]
        )
        #expect(
            lines.metadata(of: "setting needs a restart, nothing changes before")
                == [["key": "worker.shards", "old": "2", "new": "9"]]
        )
        #expect(lines.metadata(of: "configuration read again") == [["applied": "1", "restart-needed": "1"]])
        let pending = RoleStatus.PendingSetting(key: "worker.shards", inForce: "2", configured: "9")
        #expect(desk.status == .init(reloads: 1, refusedReloads: 0, restartNeeded: [pending]))
        let metrics = metrics(desk)
        #expect(metrics.contains("belfry_configuration_restart_needed 1\n"))
        #expect(metrics.contains("belfry_configuration_reloads_total{result=\"accepted\"} 1\n"))
        #expect(metrics.contains("belfry_configuration_reloads_total{result=\"refused\"} 0\n"))
    }

    @Test("Of a wrong configuration every fault is told with its place, and nothing changes")
    func refused() async throws {
        let desk = try makeDesk("worker: {shards: 3}")
        file.write("worker: {shards: 4, max-uncommitted: 0}\nlog: {level: debug}\nworkr: {}")
        #expect(await desk.readAgain() == nil)
        let told = lines.metadata(of: "configuration refused, nothing changes")
        #expect(told.map { $0["key"] } == ["worker.max-uncommitted", "workr"])
        #expect(told.map { $0["place"] } == ["belfry.yaml:1", "belfry.yaml:3"])
        #expect(desk.status == .init(reloads: 0, refusedReloads: 1, restartNeeded: []))
        file.write("worker: {shards: 3")
        #expect(await desk.readAgain() == nil)
        #expect(desk.status.refusedReloads == 2, "nor of one that is no YAML")
    }

    @Test("A configuration in which nothing differs is nothing to be applied")
    func unchanged() async throws {
        let desk = try makeDesk("worker: {shards: 3}")
        file.write("worker: {shards: 3, batch: 512}\nharvester: {interval: 2h}")
        #expect(await desk.readAgain() == nil)
        #expect(desk.status == .init(reloads: 1, refusedReloads: 0, restartNeeded: []))
        #expect(lines.metadata(of: "setting changed") == [])
    }

    @Test("What is asked for during the start is done when the role runs; what is asked for in its drain is not")
    func order() async throws {
        let (requests, request) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let desk = try makeDesk("worker: {max-uncommitted: 1}", requests: requests)
        file.write("worker: {max-uncommitted: 2}")
        request.yield()
        request.yield()
        let context = RoleContext(BelfryConfiguration(), logger: lines.logger)
        let role = Follower(context, last: 2)
        let service = RoleService(role, health: context.health, reloads: desk, logger: lines.logger)
        await #expect(throws: RoleFailure(description: "enough")) { try await service.run() }
        #expect(role.used.withLock { $0 } == [2], "signals that came while the desk was busy count as one")
        file.write("worker: {max-uncommitted: 3}")
        request.yield()
        #expect(role.used.withLock { $0 } == [2])
        let status = await service.status(now: 0)
        #expect(status.configuration?.reloads == 1)
        #expect(MetricsText.render(await service.metrics()).contains("belfry_configuration_restart_needed 0\n"))
    }

    @Test("The level of the log holds for loggers that are there, but for those with one of their own")
    func level() {
        let level = LogLevelSwitch(.info)
        let written = Mutex(0)
        let handler = JSONLogHandler(
            label: "l",
            level: level,
            gate: nil,
            output: { _ in written.withLock { $0 += 1 } },
            unixMilliseconds: { 0 }
        )
        let logger = Logger(label: "l") { _ in handler }
        var quiet = logger
        quiet.logLevel = .error
        logger.debug("a")
        level.value = .debug
        logger.debug("b")
        quiet.warning("c")
        #expect(written.withLock { $0 } == 1)
        for other in Logger.Level.allCases {
            level.value = other
            #expect(logger.logLevel == other && quiet.logLevel == .error)
        }
    }
}
