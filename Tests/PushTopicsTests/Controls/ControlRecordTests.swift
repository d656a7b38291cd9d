import PipelineCore
import PushSchemas
import RequestLanes
import SeededNumbers
import Testing

@testable import PushTopics

@Suite("Records of push.controls")
struct ControlRecordTests {
    private static let name = AppControls.Name(environment: "production", bundleID: "com.example.news")
    private static let settings: [AppControl.Setting] = [
        .pause, .pace(notificationsPerSecond: 1), .pace(notificationsPerSecond: .max),
        .discard(.init(publishedBefore: 1_795_248_000_123, ends: [0: 4711, 1: 0, 11: .max])),
        .discard(.init(publishedBefore: 0, ends: [:])),
    ]

    private func read(_ key: [UInt8], _ value: [UInt8]?) throws -> ControlRecord {
        try key.withUnsafeBytes { key in
            guard let value else { return try ControlRecord(key: key, value: .init(start: nil, count: 0)) }
            // An empty array has no address of its own, an empty value has.
            return try (value + [0]).withUnsafeBytes {
                try ControlRecord(key: key, value: .init(rebasing: $0.dropLast()))
            }
        }
    }

    private func fault(_ key: String, _ value: [UInt8]?) throws -> ControlRecord.Fault? {
        do {
            _ = try read(Array(key.utf8), value)
            return nil
        } catch let fault as ControlRecord.Fault {
            return fault
        }
    }

    private func value(_ change: (inout PushTopicControl) -> Void) throws -> [UInt8] {
        try PushTopicControl.with {
            $0.environment = Self.name.environment
            $0.bundleID = Self.name.bundleID
            change(&$0)
        }.serializedBytes()
    }

    @Test("A lever that is written is read as it was, with its reason", arguments: settings)
    func roundTrip(_ setting: AppControl.Setting) throws {
        let key = ControlRecord.key(setting.lever, of: Self.name)
        #expect(key == Array("production/com.example.news/\(setting.lever.rawValue)".utf8))
        let record = try read(key, ControlRecord.value(setting, of: Self.name, reason: "the wrong text"))
        #expect(record.name == Self.name && record.lever == setting.lever && record.setting == setting)
        #expect(record.reason == "the wrong text")
    }

    @Test("A lever of one lane is written and read with it, and applied to that lane", arguments: RequestLane.allCases)
    func lanes(_ lane: RequestLane) throws {
        for setting in Self.settings where setting.lever.named(for: lane) == lane {
            let key = ControlRecord.key(setting.lever, of: Self.name, in: lane)
            #expect(key == Array("production/com.example.news/lane/\(lane.rawValue)/\(setting.lever.rawValue)".utf8))
            let value = try ControlRecord.value(setting, of: Self.name, reason: "")
            let record = try read(key, value)
            #expect(record.name == Self.name && record.lane == lane && record.setting == setting)
            #expect(try read(ControlRecord.key(setting.lever, of: Self.name), value).lane == nil)
            var controls = AppControls()
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { try ControlRecord.apply(key: key, value: $0, to: &controls) }
            }
            var expected = AppControl()
            expected.set(setting.lever, setting)
            #expect(controls.all == [AppControls.Scope(Self.name, lane: lane): expected])
        }
    }

    @Test("A record without a value turns its lever off, and no other", arguments: AppControl.Lever.allCases)
    func off(_ lever: AppControl.Lever) throws {
        var controls = AppControls()
        func apply(_ lever: AppControl.Lever, _ setting: AppControl.Setting?) throws {
            let value = try setting.map { try ControlRecord.value($0, of: Self.name, reason: "") }
            try ControlRecord.key(lever, of: Self.name).withUnsafeBytes { key in
                guard let value else {
                    return try ControlRecord.apply(key: key, value: .init(start: nil, count: 0), to: &controls)
                }
                try value.withUnsafeBytes { try ControlRecord.apply(key: key, value: $0, to: &controls) }
            }
        }
        for setting in Self.settings { try apply(setting.lever, setting) }
        let order = AppControl.Discard(publishedBefore: 0, ends: [:])
        var expected = AppControl(isPaused: true, notificationsPerSecond: .max, discard: order)
        #expect(controls[Self.name] == expected, "the newest record of a lever counts")
        try apply(lever, nil)
        expected.set(lever, nil)
        #expect(controls[Self.name] == expected)
        for lever in AppControl.Lever.allCases { try apply(lever, nil) }
        #expect(controls == AppControls())
    }

    @Test(
        "A key is an environment, a bundle ID, perhaps a lane, and a lever, and nothing else",
        arguments: [
            "", "/", "//", "production/com.example.news", "production/com.example.news/", "com.example.news/pause",
            "production/com.example.news/pause/", "/production/com.example.news/pause",
            "production/com.example.news/Pause", "production/com.example.news/stop", "production//pause",
            "/com.example.news/pause", "Production/com.example.news/pause", "production/com.exämple.news/pause",
            "production/com.example.news#3/pause", "production/com.example.news /pause",
            "production/\(String(repeating: "a", count: 256))/pause", "\(String(repeating: "a", count: 33))/a/pause",
            "production/com.example.news/lane/pause", "production/com.example.news/lane//pause",
            "production/com.example.news/lane/slow/pause", "production/com.example.news/Lane/bulk/pause",
            "production/com.example.news/bulk/pause", "production/com.example.news/lane/bulk/",
            "production/com.example.news/lane/bulk/pause/", "production/com.example.news/lane/bulk/lane/bulk/pause",
            // It has the key without a lane.
            "production/com.example.news/lane/normal/discard",
        ]
    )
    func keys(_ key: String) throws {
        #expect(try fault(key, nil) == .unreadableKey)
        #expect(try fault(key, value { $0.pause = PushPause() }) == .unreadableKey)
    }

    @Test("A record whose value makes no sense has a fault that says why")
    func values() throws {
        let key = "production/com.example.news"
        #expect(try fault("\(key)/pause", []) == .namesDiffer, "an empty value names no topic")
        #expect(try fault("\(key)/pause", [0xFF]) == .unreadableValue)
        #expect(try fault("\(key)/pause", Array("paused".utf8)) == .unreadableValue)
        #expect(try fault("\(key)/pause", value { _ in }) == .unreadableValue, "no lever is set")
        #expect(try fault("\(key)/pause", value { $0.pace.notificationsPerSecond = 1 }) == .leversDiffer)
        #expect(try fault("\(key)/discard", value { $0.pause = PushPause() }) == .leversDiffer)
        #expect(try fault("\(key)/pace", value { $0.pace = PushPace() }) == .zeroPace)
        for change: (inout PushTopicControl) -> Void in [
            { $0.environment = "sandbox" }, { $0.environment = "" }, { $0.bundleID = "com.example.New" },
        ] {
            let value = try value {
                $0.pause = PushPause()
                change(&$0)
            }
            #expect(try fault("\(key)/pause", value) == .namesDiffer)
        }
        let ends: [[(Int32, Int64)]] = [[(-1, 0)], [(0, -1)], [(3, 1), (3, 1)], [(0, 1), (0, 2)]]
        for ends in ends {
            let value = try value {
                $0.discard.ends = ends.map { end in PushPartitionEnd.with { ($0.partition, $0.offset) = end } }
            }
            #expect(try fault("\(key)/discard", value) == .unreadableValue, "\(ends)")
        }
        let sayings = ControlRecord.Fault.allCases.map(\.description)
        #expect(Set(sayings).count == sayings.count)
    }

    @Test("A record with a fault changes no lever")
    func unchanged() throws {
        var controls = AppControls()
        controls.set(.pause, of: Self.name, .pause)
        let before = controls
        let value = try value { $0.pace.notificationsPerSecond = 1 }
        #expect(throws: ControlRecord.Fault.leversDiffer) {
            try ControlRecord.key(.pause, of: Self.name).withUnsafeBytes { key in
                try value.withUnsafeBytes { try ControlRecord.apply(key: key, value: $0, to: &controls) }
            }
        }
        #expect(controls == before)
    }

    @Test("Reading a record of any bytes ends in a lever or a fault")
    func hostile() throws {
        var random = SeededGenerator(seed: 11)
        var read = 0
        for _ in 0..<20_000 {
            let setting = Self.settings[Int(random.next() % UInt64(Self.settings.count))]
            let lane = RequestLane.allCases.randomElement(using: &random).flatMap(setting.lever.named(for:))
            var key = ControlRecord.key(setting.lever, of: Self.name, in: lane)
            var value = try ControlRecord.value(setting, of: Self.name, reason: "r")
            // A few bytes are others, or missing, or too many.
            for _ in 0..<Int(random.next() % 4) {
                value[Int(random.next() % UInt64(value.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 8 == 0 {
                key[Int(random.next() % UInt64(key.count))] = UInt8.random(in: 0...255, using: &random)
            }
            if random.next() % 4 == 0 { value = Array(value.prefix(Int(random.next() % UInt64(value.count)))) }
            if random.next() % 16 == 0 { value += (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) } }
            do {
                let record = try self.read(key, value)
                read += 1
                #expect(record.setting?.lever == record.lever)
                if case .pace(let rate) = record.setting { #expect(rate > 0) }
                if case .discard(let order) = record.setting {
                    #expect(order.ends.allSatisfy { $0.key >= 0 && $0.value >= 0 })
                }
            } catch is ControlRecord.Fault {}
        }
        #expect(read > 1000 && read < 20_000)
    }
}
