import BelfrySupport
import KafkaClient
import PipelineCore
import PushSchemas
import Testing

@testable import BelfryTools
@testable import PipelineTestSupport
@testable import PushTopics

/// Levers of single topics, as an operator sets and sees them.
@Suite("Levers of topics")
struct LeverTests {
    private static let news = "com.example.news"
    /// 2026-11-26T12:00:00.000Z.
    private static let noon: Int64 = 1_795_694_400_000

    private static var configuration: BelfryConfiguration {
        var configuration = BelfryConfiguration()
        configuration.environments = ["production", "sandbox"].map { EnvironmentSettings(name: $0, gateways: []) }
        return configuration
    }

    private func order(
        _ change: LeverOrder.Change,
        of bundleID: String = news,
        environment: String? = nil,
        reason: String = ""
    ) throws(ToolError) -> LeverOrder {
        try LeverOrder(
            change,
            of: bundleID,
            environment: environment,
            reason: reason,
            configuration: Self.configuration
        )
    }

    private func faults(_ order: LeverOrder) -> [String] {
        do throws(ToolError) {
            try order.check(now: Self.noon)
            return []
        } catch {
            guard case .invalidInput(let lines) = error else { return ["\(error)"] }
            return lines
        }
    }

    private func name(_ environment: String, _ bundleID: String = news) -> AppControls.Name {
        .init(environment: environment, bundleID: bundleID)
    }

    // MARK: Orders

    @Test("Without an environment all that are configured are meant; another one than those is refused")
    func environments() throws {
        #expect(try order(.pause).environments == ["production", "sandbox"])
        #expect(try order(.pause, environment: "sandbox").environments == ["sandbox"])
        for other in ["staging", ""] {
            let fault = "environment: found \"\(other)\"; allowed: production, sandbox"
            #expect(throws: ToolError.invalidInput([fault])) { try order(.pause, environment: other) }
        }
    }

    @Test("A bundle ID, a rate, a time to come and a reason too long are refused before anything is published")
    func refusals() throws {
        #expect(try faults(order(.pause)).isEmpty)
        #expect(try faults(order(.pause, of: "")) == ["app: it is empty"])
        #expect(try faults(order(.pause, of: "com.example.news#3")).count == 1)
        #expect(try faults(order(.pause, of: "production/a")).count == 1)
        for rate in [1, 10_000_000] { #expect(try faults(order(.pace(notificationsPerSecond: rate))).isEmpty) }
        for rate in [-1, 0, 10_000_001] {
            let faults = try faults(order(.pace(notificationsPerSecond: rate)))
            #expect(faults == ["rate: found \(rate); allowed: 1...10000000"])
        }
        for time in [0, Self.noon] { #expect(try faults(order(.discard(before: time))).isEmpty) }
        #expect(
            try faults(order(.discard(before: Self.noon + 1))) == [
                "before: found 2026-11-26T12:00:00.001Z, in the future; allowed: at most 2026-11-26T12:00:00.000Z, "
                    + "which is now"
            ]
        )
        let reason = String(repeating: "ü", count: 200)
        #expect(try faults(order(.pause, reason: reason)).isEmpty)
        #expect(
            try faults(order(.pause, of: "", reason: reason + "!")) == [
                "app: it is empty", "reason: found 201 characters; allowed: at most 200",
            ]
        )
    }

    @Test("An order for all that is there now holds for clocks that are ahead, and only up to the ends")
    func clocks() throws {
        let ends: [Int32: Int64] = [0: 5]
        func discard(before time: Int64?) throws -> AppControl.Discard? {
            guard case .discard(let order) = try order(.discard(before: time)).setting(ends: ends, now: Self.noon)
            else {
                return nil
            }
            return order
        }
        let all = try #require(try discard(before: nil))
        #expect(all.covers(partition: 0, offset: 4, publishedAt: Self.noon + 299_999))
        #expect(!all.covers(partition: 0, offset: 5, publishedAt: Self.noon - 1))
        let older = try #require(try discard(before: Self.noon))
        #expect(older.covers(partition: 0, offset: 4, publishedAt: Self.noon - 1))
        #expect(!older.covers(partition: 0, offset: 4, publishedAt: Self.noon))
    }

    @Test("A bundle that certificates do not name is doubted, unless the configuration or a provider key may serve it")
    func doubts() {
        func doubt(_ certified: Set<String>, _ change: (inout BelfryConfiguration) -> Void = { _ in }) -> Bool {
            var configuration = Self.configuration
            change(&configuration)
            return BundleDoubt.text(of: Self.news, configuration, certified: certified) != nil
        }
        #expect(doubt(["com.example.New"]))
        #expect(!doubt(["com.example.New", Self.news]))
        #expect(!doubt([]), "the operator's machine may have none")
        #expect(!doubt(["com.example.New"]) { $0.keys.directory = "keys" })
        #expect(!doubt(["com.example.New"]) { $0.apps[Self.news] = AppOverrides() })
    }

    // MARK: Lines

    @Test("A lever is shown in words and as an object, and its reason stays within its column")
    func lines() {
        let discard = AppControl.Discard(publishedBefore: Self.noon, ends: [1: 7, 0: 4711])
        let place = #""bundle":"com.example.news","environment":"production","#
        let paused = LeverLine(
            name: name("production"),
            lever: .pause,
            setting: .pause,
            reason: "a\nb  \"c\"",
            setAt: Self.noon
        )
        #expect(paused.text == "2026-11-26T12:00:00.000Z  com.example.news  production  paused  a·b ·\"c\"")
        #expect(
            paused.json.text == "{" + place
                + #""lever":"pause","set":true,"set_at":"2026-11-26T12:00:00.000Z","reason":"a\nb  \"c\""}"#
        )
        let pace = LeverLine(name: name("production"), lever: .pace, setting: .pace(notificationsPerSecond: 500))
        #expect(pace.text == "-  com.example.news  production  at most 500/s  -")
        #expect(pace.json.text == "{" + place + #""lever":"pace","set":true,"notifications_per_second":500}"#)
        let order = LeverLine(name: name("production"), lever: .discard, setting: .discard(discard))
        #expect(order.position == "discards what was published before 2026-11-26T12:00:00.000Z")
        #expect(
            order.json.text == "{" + place + #""lever":"discard","set":true,"before":"2026-11-26T12:00:00.000Z","#
                + #""ends":[{"partition":0,"offset":4711},{"partition":1,"offset":7}]}"#
        )
        let off = AppControl.Lever.allCases.map { LeverLine(name: name("production"), lever: $0) }
        #expect(off.map(\.position) == ["not paused", "no pace", "discards nothing"])
        #expect(off[1].json.text == "{" + place + #""lever":"pace","set":false}"#)
    }

    @Test("A report tells from when the lever holds, and of an order to discard how to see what ended")
    func reports() {
        func report(_ setting: AppControl.Setting?, partitions: Int = 0) -> LeverReport {
            let lines = ["production", "sandbox"].map {
                LeverLine(name: name($0), lever: setting?.lever ?? .pause, setting: setting)
            }
            return LeverReport(lines: lines, partitions: partitions, orderedAt: Self.noon)
        }
        #expect(
            report(nil).text == """
                com.example.news in production: not paused
                com.example.news in sandbox: not paused
                workers do so within 2 seconds
                """
        )
        var resumed = report(nil).lines
        resumed[0].wasSet = true
        resumed[1].wasSet = false
        #expect(
            LeverReport(lines: resumed, orderedAt: Self.noon).text == """
                com.example.news in production: not paused
                com.example.news in sandbox: not paused, as before
                workers do so within 2 seconds
                """
        )
        #expect(
            LeverReport(lines: [resumed[1]], orderedAt: Self.noon).text
                == "com.example.news in sandbox: not paused, as before"
        )
        let order = AppControl.Discard(publishedBefore: 0, ends: [0: 1])
        var all = report(.discard(order), partitions: 1)
        all.allowsForClocks = true
        #expect(all.text.contains("in 1 partition now; publishers' clocks may be 5 minutes ahead\n"))
        var discard = report(.discard(order), partitions: 1)
        discard.kafkaTopics = ["push.requests", "push.requests.bulk"]
        let lines = discard.text.split(separator: "\n")
        #expect(lines[2] == "workers do so within 2 seconds, for requests that lie in 1 partition now")
        #expect(lines[3] == "the partitions are those of push.requests, push.requests.bulk")
        #expect(
            lines[4] == "the requests that end so: belfry outcomes --app com.example.news --kind aborted "
                + "--since 2026-11-26T12:00:00.000Z"
        )
        #expect(report(.pause).json.split(separator: "\n").count == 2)
    }

    // MARK: Listing

    @Test("Of each lever the newest record counts, and one that cannot be read until another takes its place")
    func listing() throws {
        var listing = LeverListing()
        func add(_ key: String, _ value: [UInt8]?, at offset: Int) {
            Array(key.utf8).withUnsafeBytes { key in
                guard let value else {
                    return listing.add(key: key, value: .init(start: nil, count: 0), setAt: nil, place: "\(offset)")
                }
                value.withUnsafeBytes { listing.add(key: key, value: $0, setAt: Int64(offset), place: "\(offset)") }
            }
        }
        func add(_ setting: AppControl.Setting, _ name: AppControls.Name, at offset: Int) throws {
            let key = String(decoding: ControlRecord.key(setting.lever, of: name), as: UTF8.self)
            add(key, try ControlRecord.value(setting, of: name, reason: "\(offset)"), at: offset)
        }
        try add(.pace(notificationsPerSecond: 7), name("sandbox"), at: 0)
        try add(.pause, name("sandbox"), at: 1)
        try add(.pause, name("production", "com.example.b"), at: 2)
        try add(.pause, name("production"), at: 3)
        add("production/com.example.b/pause", nil, at: 4)
        try add(.pace(notificationsPerSecond: 8), name("sandbox"), at: 5)
        #expect(
            listing.lines.map(\.text) == [
                "1970-01-01T00:00:00.003Z  com.example.news  production  paused  3",
                "1970-01-01T00:00:00.005Z  com.example.news  sandbox  at most 8/s  5",
                "1970-01-01T00:00:00.001Z  com.example.news  sandbox  paused  1",
            ]
        )
        #expect(listing.faults.isEmpty)

        add("sandbox/com.example.news/pause", [0xFF], at: 6)
        add("nonsense", [1], at: 7)
        #expect(
            listing.faults == ["6: \(ControlRecord.Fault.unreadableValue)", "7: \(ControlRecord.Fault.unreadableKey)"]
        )
        #expect(listing.lines.count == 3, "workers keep to the lever that they have")
        add("nonsense", nil, at: 8)
        try add(.pause, name("sandbox"), at: 9)
        #expect(listing.faults.isEmpty && listing.lines.count == 3)
    }

    // MARK: Commands

    @Test("Levers that are set are listed; those that are off are not, and workers read what the commands wrote")
    func commands() throws {
        // An installation without the other lanes.
        let topics = [(name: "push.requests", partitions: 3), (name: "push.controls", partitions: 1)]
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        try broker.publishBatch(to: "push.requests", (0..<9).map { (Array("\($0)".utf8), [1]) })
        var ends: [Int32: Int64] = [0: 0, 1: 0, 2: 0]
        for batch in try contents(of: "push.requests", brokers: settings.brokers) {
            for index in 0..<batch.count { ends[batch[index].partition, default: 0] += 1 }
        }
        #expect(try listed(settings).isEmpty)
        _ = try LeverCommands.set(order(.pause, reason: "the wrong text"), through: settings)
        _ = try LeverCommands.set(order(.pace(notificationsPerSecond: 500), environment: "sandbox"), through: settings)
        let report = try LeverCommands.set(order(.discard(before: 1), environment: "production"), through: settings)
        #expect(report.partitions == 3 && report.lines.count == 1)
        let lines = try listed(settings)
        #expect(
            lines.map { $0.replacing(#/^[^ ]+/#, with: "time") } == [
                "time  com.example.news  production  discards what was published before 1970-01-01T00:00:00.001Z  -",
                "time  com.example.news  production  paused  the wrong text",
                "time  com.example.news  sandbox  at most 500/s  -",
                "time  com.example.news  sandbox  paused  the wrong text",
            ]
        )
        let controls = try self.controls(settings)
        #expect(
            controls[name("production")]
                == AppControl(isPaused: true, discard: .init(publishedBefore: 1, ends: ends))
        )
        #expect(controls[name("sandbox")] == AppControl(isPaused: true, notificationsPerSecond: 500))

        for change: LeverOrder.Change in [.resume, .paceOff, .discardOff] {
            let report = try LeverCommands.set(order(change), through: settings)
            #expect(report.lines.allSatisfy { $0.setting == nil } && report.partitions == 0)
            let was = [change != .paceOff, change != .discardOff]
            #expect(report.lines.map(\.wasSet) == was, "in production and in the sandbox")
            #expect(try LeverCommands.set(order(change), through: settings).lines.map(\.wasSet) == [false, false])
        }
        #expect(try listed(settings).isEmpty)
        #expect(try self.controls(settings) == AppControls())
    }

    @Test("A record of push.controls that cannot be read is told, and the command fails behind the others")
    func unreadable() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.controls", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        try broker.publishBatch(to: "push.controls", [(Array("nonsense".utf8), [1])])
        _ = try LeverCommands.set(order(.pause), through: settings)
        var lines = 0
        #expect(throws: ToolError.refused("left out, for they cannot be read: 1 record")) {
            try LeverCommands.list(settings, asJSON: true) { _ in
                lines += 1
                return true
            }
        }
        #expect(lines == 2)
    }

    @Test("Where a topic is missing the commands name the command that makes it, and set nothing")
    func missing() throws {
        for missing in ["push.controls", "push.requests"] {
            let others = ["push.controls", "push.requests"].filter { $0 != missing }
            let broker = try EmbeddedBroker(topics: others.map { (name: $0, partitions: 1) })
            defer { broker.close() }
            var settings = KafkaSettings()
            settings.brokers = broker.bootstrapServers
            let error = #expect(throws: ToolError.self) {
                try LeverCommands.set(order(.discard(before: 1)), through: settings)
            }
            #expect("\(try #require(error))".contains("\(missing)"), "\(String(describing: error))")
            #expect("\(try #require(error))".hasSuffix("; belfry topics create makes it"))
            if missing == "push.requests" { #expect(try listed(settings).isEmpty) }
        }
    }

    private func listed(_ settings: KafkaSettings) throws -> [String] {
        var lines: [String] = []
        try LeverCommands.list(settings, asJSON: false) { line in
            lines.append(String(decoding: line.dropLast(), as: UTF8.self))
            return true
        }
        return lines
    }

    /// The levers as a worker reads them.
    private func controls(_ settings: KafkaSettings) throws -> AppControls {
        var controls = AppControls()
        for batch in try contents(of: "push.controls", brokers: settings.brokers) {
            for index in 0..<batch.count {
                try ControlRecord.apply(key: batch[index].key, value: batch[index].value, to: &controls)
            }
        }
        return controls
    }
}
