import BelfrySupport
import PipelineCore
import RequestLanes
import Testing

@testable import BelfryTools
@testable import KafkaClient
@testable import PipelineTestSupport
@testable import PushTopics

/// Levers of single lanes, as an operator sets and sees them.
@Suite("Levers of lanes")
struct LaneLeverTests {
    private static let name = AppControls.Name(environment: "production", bundleID: "com.example.news")
    private static let ends: [RequestLane: [Int32: Int64]] = [.bulk: [0: 3], .normal: [0: 2], .urgent: [0: 1]]

    private func order(_ change: LeverOrder.Change, in lane: RequestLane? = nil) throws(ToolError) -> LeverOrder {
        var configuration = BelfryConfiguration()
        configuration.environments = [EnvironmentSettings(name: "production", gateways: [])]
        return try LeverOrder(
            change,
            of: Self.name.bundleID,
            environment: nil,
            lane: lane,
            configuration: configuration
        )
    }

    private func line(
        _ lever: AppControl.Lever,
        in lane: RequestLane? = nil,
        _ setting: AppControl.Setting? = nil
    ) -> LeverLine {
        LeverLine(name: Self.name, lane: lane, lever: lever, setting: setting)
    }

    /// The lanes of the records that an order publishes.
    private func lanes(_ order: LeverOrder, known: [LeverLine] = []) -> [RequestLane?] {
        let ends = Self.ends.filter { order.needsEnds && (order.lane == nil || order.lane == $0.key) }
        return order.lines(ends: ends, known: known, now: 0).map(\.lane)
    }

    // MARK: Orders

    @Test("A pause and a pace are one record; a discard is one for each lane, of which the normal one's names none")
    func records() throws {
        let pace = LeverOrder.Change.pace(notificationsPerSecond: 5)
        #expect(try lanes(order(.pause)) == [nil] && lanes(order(pace)) == [nil])
        #expect(try lanes(order(.discard(before: nil))) == [.urgent, nil, .bulk])
        for lane in RequestLane.allCases {
            #expect(try lanes(order(.pause, in: lane)) == [lane] && lanes(order(pace, in: lane)) == [lane])
            let discard = try order(.discard(before: 7), in: lane)
            #expect(lanes(discard) == [lane == .normal ? nil : lane])
            let setting = discard.lines(ends: [lane: [0: 4]], known: [], now: 9).first?.setting
            #expect(setting == .discard(.init(publishedBefore: 7, ends: [0: 4])), "its own ends")
        }
        let settings = try order(.discard(before: 7)).lines(ends: Self.ends, known: [], now: 9).compactMap(\.setting)
        #expect(settings == [1, 2, 3].map { AppControl.Setting.discard(.init(publishedBefore: 7, ends: [0: $0])) })
        #expect(try !order(.pause).needsLevers && !order(.discard(before: nil)).needsLevers, "they do not wait")
    }

    @Test(
        "An order that takes off without a lane takes off all that are set; with one, that of the lane alone",
        arguments: [.resume, .paceOff, .discardOff] as [LeverOrder.Change]
    )
    func takesOff(_ change: LeverOrder.Change) throws {
        let lever = try order(change).lever
        let set = [line(lever, in: .bulk)]
        #expect(try lanes(order(change)) == [nil] && lanes(order(change), known: set) == [nil, .bulk])
        let lines = try order(change).lines(ends: [:], known: set, now: 0)
        #expect(lines.map(\.wasSet) == [false, true] && lines.allSatisfy { $0.setting == nil })
        for lane in RequestLane.allCases {
            #expect(try lanes(order(change, in: lane), known: set) == [lever.named(for: lane)])
        }
        let others = AppControl.Lever.allCases.filter { $0 != lever }.map { line($0, in: .bulk) }
        #expect(try lanes(order(change), known: others) == [nil], "levers of other kinds stay")
    }

    @Test("What was left and still holds in a lane that is meant is told: it may hold against the order")
    func remaining() throws {
        func left(
            _ change: LeverOrder.Change,
            in lane: RequestLane? = nil,
            of known: LeverLine...
        ) throws -> [RequestLane?] {
            let lines = try order(change, in: lane).remaining(known)
            #expect(lines.allSatisfy { $0.wasSet == true })
            return lines.map(\.lane)
        }
        let (pause, pace, discard) = (line(.pause, .pause), line(.pace), line(.discard))
        let (ofBulk, ofUrgent) = (line(.pace, in: .bulk), line(.pace, in: .urgent))
        #expect(try left(.resume, in: .urgent, of: pause, pace, discard) == [nil])
        #expect(try left(.resume, of: pause, pace).isEmpty && left(.pause, in: .bulk, of: pause).isEmpty)
        #expect(try left(.paceOff, in: .bulk, of: pace, ofUrgent) == [nil])
        #expect(try left(.paceOff, in: .urgent, of: pace).isEmpty, "it does not hold there")
        #expect(try left(.pace(notificationsPerSecond: 9), of: pace, ofBulk, ofUrgent) == [.bulk])
        for lane in RequestLane.allCases { #expect(try left(.discardOff, in: lane, of: discard).isEmpty) }
        var other = pause
        other.name.environment = "sandbox"
        #expect(try left(.resume, in: .urgent, of: other).isEmpty)

        let resumed = try order(.resume, in: .urgent)
        let report = LeverReport(
            lines: resumed.lines(ends: [:], known: [pause], now: 0),
            remaining: resumed.remaining([pause]),
            orderedAt: 0
        )
        #expect(
            report.text == """
                com.example.news in production: not paused in lane urgent, as before
                com.example.news in production: still paused
                """
        )
        #expect(report.json.hasSuffix(#""environment":"production","lever":"pause","set":true,"was_set":true}"#))
    }

    // MARK: Lines

    @Test("A lever names its lane in words and as an object; a pace without one says in which it holds")
    func words() throws {
        let settings: [AppControl.Setting] = [
            .pause, .pace(notificationsPerSecond: 7), .discard(.init(publishedBefore: 0, ends: [:])),
        ]
        #expect(
            settings.map { line($0.lever, in: .bulk, $0).position } == [
                "paused in lane bulk", "at most 7/s in lane bulk",
                "discards in lane bulk what was published before 1970-01-01T00:00:00.000Z",
            ]
        )
        #expect(
            AppControl.Lever.allCases.map { line($0, in: .urgent).position } == [
                "not paused in lane urgent", "no pace in lane urgent", "discards nothing in lane urgent",
            ]
        )
        #expect(
            line(.pause, in: .bulk, .pause).json.text
                == #"{"bundle":"com.example.news","environment":"production","lane":"bulk","lever":"pause","set":true}"#
        )
        let pace = LeverReport(lines: [line(.pace, settings[1])], orderedAt: 0)
        #expect(pace.text.hasSuffix("\nworkers do so within 2 seconds, in the lanes normal and bulk each by itself"))
        let ofLane = LeverReport(lines: [line(.pace, in: .bulk, settings[1])], orderedAt: 0)
        #expect(ofLane.text.hasSuffix("\nworkers do so within 2 seconds"))
    }

    // MARK: Commands

    @Test("A discard has the ends of each lane that is there, and what is off in all lanes leaves none")
    func commands() throws {
        let topics = [
            (name: "push.requests", partitions: 2), (name: "push.requests.bulk", partitions: 1),
            (name: "push.controls", partitions: 1),
        ]
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        try broker.publishBatch(to: "push.requests.bulk", (0..<5).map { _ in (Array("a".utf8), [1]) })
        _ = try LeverCommands.set(order(.pause), through: settings)
        _ = try LeverCommands.set(order(.pause, in: .urgent), through: settings)
        _ = try LeverCommands.set(order(.pace(notificationsPerSecond: 9), in: .bulk), through: settings)
        let report = try LeverCommands.set(order(.discard(before: 1)), through: settings)
        #expect(report.partitions == 3 && report.kafkaTopics == ["push.requests", "push.requests.bulk"])
        let discard = AppControl.Discard(publishedBefore: 1, ends: [0: 5])
        let controls = try self.controls(settings)
        #expect(controls.control(of: Self.name, in: .urgent) == AppControl(isPaused: true))
        #expect(
            controls.control(of: Self.name, in: .bulk)
                == AppControl(isPaused: true, notificationsPerSecond: 9, discard: discard)
        )
        #expect(controls.control(of: Self.name, in: .normal).discard?.ends == [0: 0, 1: 0])
        let lines = try LeverCommands.read(settings).lines
        #expect(lines.map(\.lane) == [nil, nil, .urgent, .bulk, .bulk])
        #expect(lines.map(\.lever) == [.discard, .pause, .pause, .discard, .pace])

        let error = #expect(throws: ToolError.self) {
            try LeverCommands.set(order(.discard(before: 1), in: .urgent), through: settings)
        }
        #expect("\(try #require(error))".contains("push.requests.urgent"))
        let resumed = try LeverCommands.set(order(.resume, in: .urgent), through: settings)
        #expect(resumed.lines.map(\.wasSet) == [true] && resumed.remaining.map(\.lane) == [nil])
        for change: LeverOrder.Change in [.resume, .paceOff, .discardOff] {
            _ = try LeverCommands.set(order(change), through: settings)
        }
        #expect(try self.controls(settings) == AppControls())
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
