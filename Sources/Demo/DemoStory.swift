import Foundation
import LocalPipeline
import PushSchemas
import TokenState

/// The whole story in one run: register, send, lose some apps, harvest, send again, and check the books.
public struct DemoStory {
    /// Options of the demo.
    public struct Options: Sendable {
        /// Between workers and sandbox.
        public var transport = PipelineTransport.binary
        /// `host:port` of a broker to use instead of the embedded one.
        public var kafka: String?
        /// URL of a Redis server to use instead of one of its own.
        public var redis: String?
        /// In both rounds together.
        public var notifications = 100_000
        public var registrations = 30_000
        public var seed: UInt64 = 1

        public init() {}
    }

    private let options: Options
    private let executable: String
    private let say: (String) -> Void

    /// Per topic: devices that lose the app before the first round, and those of them that get it back before the
    /// second.
    private static let uninstalled = 400
    private static let workers = 2
    private static let reinstalled = 150
    private static let invalidTokens = 60
    private static let foreignTokens = 5

    /// - Parameters:
    ///   - executable: the `belfry` program.
    ///   - say: told what happens, a line at a time.
    public init(_ options: Options, executable: String, say: @escaping (String) -> Void) {
        self.options = options
        self.executable = executable
        self.say = say
    }

    /// Runs the story; everything it started is stopped when it returns. The directory with logs stays if something is
    /// wrong.
    public func run() async throws -> DemoReport {
        let directory = NSTemporaryDirectory() + "belfry-demo-\(ProcessInfo.processInfo.processIdentifier)"
        let report = try await tell(in: directory)
        if report.balances { try? FileManager.default.removeItem(atPath: directory) }
        return report
    }

    private func tell(in directory: String) async throws -> DemoReport {
        let start = Date()
        var setUp = LocalPipeline.Options()
        setUp.transport = options.transport
        setUp.lanes = RequestLane.allCases
        setUp.kafka = options.kafka
        setUp.redis = options.redis
        setUp.sandboxArguments = ["--count-titles"]
        // A server that is lent for the demo need not store its data durably.
        if options.redis != nil { setUp.redisSettings = ", durability: warn" }
        let servers = [options.kafka == nil ? "broker" : nil, options.redis == nil ? "Redis" : nil, "sandbox"]
        let starting = servers.compactMap { $0 }.joined(separator: ", ")
        say("starting \(starting) in \(directory)")
        // The first step asks a broker that is not the demo's own, and says nothing before that answers.
        if let kafka = options.kafka { say("waiting for the brokers at \(kafka)") }
        let pipeline = try LocalPipeline(setUp, executable: executable, directory: directory)
        defer { pipeline.stop() }
        // Workers know all levers before they send.
        try setPace(["--rate", "\(Overtaking.notificationsPerSecond)"], pipeline)
        for _ in 0..<Self.workers { try pipeline.startWorker() }
        try pipeline.startRegistrar()
        try pipeline.startHarvester()
        let kafka = try PipelineClient(brokers: pipeline.brokers, tell: say)
        defer { kafka.close() }
        // The rebalances of the start are over when every shard has its share.
        try kafka.wait(for: "the workers' partitions", within: 60) {
            RequestLane.allCases.allSatisfy {
                WorkerLog.shardsWithPartitions(in: pipeline.workers, of: $0)
                    == Self.workers * LocalPipeline.Options.shards
            }
        }
        let inspector = try TokenInspector(redisURL: pipeline.redisURL)
        defer { inspector.close() }

        let topics = try self.topics(of: pipeline)
        try await register(topics, kafka, inspector, start)
        let first = Int(start.timeIntervalSince1970) % 1_000_000 * 1000
        var plan = RequestPlan(seed: options.seed, firstNumber: first, now: Int64(start.timeIntervalSince1970))
        var records = try await firstRound(&plan, topics, pipeline, kafka)
        let overtaking = try overtake(&plan, topics, kafka)
        records += overtaking.bulk + overtaking.urgent
        let dead = try await harvest(topics, pipeline, kafka, inspector)
        records += try await secondRound(&plan, topics, pipeline, kafka)
        let overtook = try await judge(overtaking, pipeline)
        // A broker that is lent keeps what is set.
        if options.kafka != nil { try setPace(["--off"], pipeline) }
        say("stopping the workers")
        let codes = pipeline.stopWorkers()
        var complaints = codes.enumerated().compactMap { index, code in
            code == 0 ? nil : "worker \(index + 1) ended with \(code)"
        }
        let silent = topics.count * (Self.uninstalled - Self.reinstalled)
        if kafka.books.count(.tombstoned) < silent {
            complaints.append("\(kafka.books.count(.tombstoned)) tombstoned notifications, at least \(silent) expected")
        }
        if !overtook { complaints.append("an urgent notification came behind the backlog in bulk") }
        complaints += DemoReport.unproven(kafka.books, over: options.transport)
        let gateway = try await pipeline.sandbox.stats()
        var devices = DeviceBooks(records, at: kafka.places, outcomes: kafka.books)
        devices.note(titles: gateway.titles)
        for topic in topics where topic.isLocalized {
            devices.numbers.merge(try numbers(of: topic, inspector)) { first, _ in first }
        }
        complaints += devices.complaints(duplicates: gateway.accepted - gateway.distinct)
        return DemoReport(
            books: kafka.books,
            gateway: gateway,
            devices: devices,
            overtook: overtook,
            tombstones: dead,
            resent: WorkerLog.sum(of: "resent", in: pipeline.workers),
            seconds: Date().timeIntervalSince(start),
            complaints: complaints
        )
    }

    /// The locale with which a device registers.
    private static func locale(of token: [UInt8]) -> String {
        PlannedLanguage(of: token).rawValue
    }

    /// By token: the number in Redis, where there is one. A record that cannot be read has none.
    private func numbers(of topic: RequestPlan.Topic, _ inspector: TokenInspector) throws -> [[UInt8]: Int] {
        var numbers: [[UInt8]: Int] = [:]
        _ = try inspector.walk(environment: "sandbox", bundleID: topic.bundleID, badges: true) { page, _ in
            for report in page { numbers[report.token] = report.badge.map { Int($0) } }
            return true
        }
        return numbers
    }

    // MARK: Chapters

    private func topics(of pipeline: LocalPipeline) throws -> [RequestPlan.Topic] {
        let share = options.registrations / pipeline.options.topics.count
        return try pipeline.options.topics.map { name in
            let tokens = try pipeline.tokens(of: name, first: 0, count: share)
            return RequestPlan.Topic(
                bundleID: name,
                living: Array(tokens[Self.uninstalled...]),
                uninstalled: Array(tokens[..<Self.uninstalled]),
                isLocalized: name == pipeline.options.topics.first
            )
        }
    }

    private func register(
        _ topics: [RequestPlan.Topic],
        _ kafka: PipelineClient,
        _ inspector: TokenInspector,
        _ start: Date
    ) async throws {
        say("registering \(options.registrations) tokens")
        // In the past, as most registrations are.
        let at = Int64(start.timeIntervalSince1970) - 86_400
        let before = try inspector.count().registered
        for topic in topics {
            try kafka.register(
                topic.uninstalled + topic.living,
                bundleID: topic.bundleID,
                at: at,
                locale: Self.locale(of:)
            )
        }
        let expected = topics.reduce(0) { $0 + $1.uninstalled.count + $1.living.count }
        try waitForTokens("registrations in Redis", kafka, inspector) { counts in
            // On a server that knew the tokens before, they are there at once.
            counts.registered >= max(before, expected)
        }
    }

    private func firstRound(
        _ plan: inout RequestPlan,
        _ topics: [RequestPlan.Topic],
        _ pipeline: LocalPipeline,
        _ kafka: PipelineClient
    ) async throws -> [PlannedRecord] {
        for topic in topics {
            try await pipeline.sandbox.setDevices(
                topic: topic.bundleID,
                first: 0,
                count: Self.uninstalled,
                state: "uninstalled"
            )
        }
        var records: [PlannedRecord] = []
        for (index, topic) in topics.enumerated() {
            let share = options.notifications * 7 / 10 / topics.count - Self.uninstalled
            records += plan.good(share, of: topic, from: topic.living)
            records += plan.good(Self.uninstalled, of: topic, from: topic.uninstalled)
            records += plan.invalidTokens(Self.invalidTokens, of: topic)
            records += plan.foreignTokens(Self.foreignTokens, of: topic, from: topics[(index + 1) % topics.count])
            records += plan.bad(of: topic)
        }
        plan.shuffle(&records)
        say("first round: \(records.reduce(0) { $0 + $1.notifications }) notifications in \(records.count) records")
        try kafka.publish(records)
        try kafka.waitForOutcomes()
        return records
    }

    /// Publishes a backlog into bulk, which takes a few seconds, and an urgent notification behind it. Both are sent
    /// while the next chapter waits.
    private func overtake(
        _ plan: inout RequestPlan,
        _ topics: [RequestPlan.Topic],
        _ kafka: PipelineClient
    ) throws -> Overtaking {
        let overtaking = Overtaking(topics[topics.count - 1], &plan)
        say("a backlog of \(overtaking.notifications) notifications in bulk, and an urgent one behind it")
        try overtaking.publish(through: kafka)
        return overtaking
    }

    /// All outcomes are there.
    private func judge(_ overtaking: Overtaking, _ pipeline: LocalPipeline) async throws -> Bool {
        let order = try await pipeline.sandbox.accepted(topic: overtaking.bundleID, token: overtaking.device)
        guard overtaking.hasOvertaken(order) else { return false }
        say("the urgent notification had overtaken the backlog in bulk: the device got it first")
        return true
    }

    /// Sets the pace in bulk of the last topic, or takes it off.
    private func setPace(_ pace: [String], _ pipeline: LocalPipeline) throws {
        guard let app = pipeline.options.topics.last else { return }
        try pipeline.run(
            ["apps", "pace", app, "--lane", "bulk", "--config", pipeline.configurationFile] + pace
        )
    }

    /// Waits until the devices that lost the app have tombstones, by the feedback lists or, over HTTP/2, by the
    /// answers; lets some install the app again. Returns the tombstones.
    private func harvest(
        _ topics: [RequestPlan.Topic],
        _ pipeline: LocalPipeline,
        _ kafka: PipelineClient,
        _ inspector: TokenInspector
    ) async throws -> Int {
        say(options.transport == .http2 ? "waiting for tombstones" : "harvesting feedback")
        // Missing apps get tombstones for certain. An invalid token gets one only when its topic was accepted
        // over a newer connection after it, which at the end of a burst may not come: they are awaited until no more
        // come.
        let expected = topics.count * Self.uninstalled
        var last = (count: -1, since: Date())
        try waitForTokens("tombstones in Redis", kafka, inspector) { counts in
            if counts.tombstoned != last.count { last = (counts.tombstoned, Date()) }
            return counts.tombstoned >= expected && Date().timeIntervalSince(last.since) >= 5
        }
        let dead = try inspector.count().tombstoned
        say("\(dead) tombstones; \(topics.count * Self.reinstalled) devices install the app again")
        for topic in topics {
            try await pipeline.sandbox.setDevices(
                topic: topic.bundleID,
                first: 0,
                count: Self.reinstalled,
                state: "reinstalled"
            )
            // Registered after the tombstone's second.
            try kafka.register(
                Array(topic.uninstalled[..<Self.reinstalled]),
                bundleID: topic.bundleID,
                at: Int64(Date().timeIntervalSince1970) + 1,
                locale: Self.locale(of:)
            )
        }
        let left = dead - topics.count * Self.reinstalled
        try waitForTokens("registrations in Redis", kafka, inspector) { $0.tombstoned <= left }
        return left
    }

    private func secondRound(
        _ plan: inout RequestPlan,
        _ topics: [RequestPlan.Topic],
        _ pipeline: LocalPipeline,
        _ kafka: PipelineClient
    ) async throws -> [PlannedRecord] {
        var records: [PlannedRecord] = []
        var left = options.notifications - kafka.books.published
        for (index, topic) in topics.enumerated() {
            let share = left / (topics.count - index)
            left -= share
            records += plan.good(Self.uninstalled, of: topic, from: topic.uninstalled)
            records += plan.good(max(0, share - Self.uninstalled), of: topic, from: topic.living)
        }
        plan.shuffle(&records)
        say("second round: \(records.reduce(0) { $0 + $1.notifications }) notifications in \(records.count) records")
        try kafka.publish(records)
        try kafka.waitForOutcomes()
        return records
    }

    private func waitForTokens(
        _ what: String,
        _ kafka: PipelineClient,
        _ inspector: TokenInspector,
        _ condition: (TokenInspector.Counts) -> Bool
    ) throws {
        var failure: (any Error)?
        var nextLook = Date()
        try kafka.wait(for: what, within: 60) {
            guard Date() >= nextLook else { return false }
            nextLook = Date().addingTimeInterval(0.25)
            do {
                return condition(try inspector.count())
            } catch {
                failure = error
                return true
            }
        }
        if let failure { throw failure }
    }
}
