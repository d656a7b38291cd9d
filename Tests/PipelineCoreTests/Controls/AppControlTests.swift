import PipelineCore
import RequestLanes
import Testing

/// The levers of topics.
@Suite("Levers of a topic")
struct AppControlTests {
    private static let name = AppControls.Name(environment: "live", bundleID: "com.example.news")
    private static let order = AppControl.Discard(publishedBefore: 1000, ends: [0: 10, 2: 0])

    @Test("Each lever is set and turned off by itself; a topic without any is not kept")
    func levers() {
        var controls = AppControls()
        controls.set(.pause, of: Self.name, .pause)
        controls.set(.pace, of: Self.name, .pace(notificationsPerSecond: 5))
        controls.set(.discard, of: Self.name, .discard(Self.order))
        #expect(controls[Self.name] == AppControl(isPaused: true, notificationsPerSecond: 5, discard: Self.order))
        #expect(controls.counts == [.pause: 1, .pace: 1, .discard: 1])
        controls.set(.pause, of: Self.name, nil)
        #expect(controls[Self.name] == AppControl(notificationsPerSecond: 5, discard: Self.order))
        controls.set(.pace, of: Self.name, nil)
        controls.set(.discard, of: Self.name, nil)
        #expect(controls.all.isEmpty && controls.counts == [.pause: 0, .pace: 0, .discard: 0])
    }

    @Test("Topics with one bundle in two environments have levers of their own")
    func environments() {
        var controls = AppControls()
        controls.set(.pause, of: Self.name, .pause)
        #expect(!controls[AppControls.Name(environment: "sandbox", bundleID: Self.name.bundleID)].isPaused)
    }

    @Test("Levers of lanes are set by themselves, count by themselves, and stand behind those that name no lane")
    func lanes() {
        var controls = AppControls()
        controls.set(.pause, of: Self.name, .pause)
        for lane in RequestLane.allCases { controls.set(.pause, of: Self.name, in: lane, .pause) }
        #expect(controls.counts == [.pause: 4, .pace: 0, .discard: 0])
        #expect(controls.all.keys.sorted().map(\.lane) == [nil, .urgent, .normal, .bulk])
        controls.set(.pause, of: Self.name, in: .bulk, nil)
        #expect(!controls[Self.name, .bulk].isPaused && controls[Self.name].isPaused)
        controls.set(.pause, of: Self.name, nil)
        #expect(controls[Self.name, .urgent].isPaused && controls[Self.name, .normal].isPaused)
        #expect(controls.counts[.pause] == 2)
        let other = AppControls.Name(environment: "sandbox", bundleID: Self.name.bundleID)
        #expect(controls.control(of: other, in: .urgent) == AppControl())
    }

    @Test("A lane is paused by its own pause or by one that names no lane", arguments: RequestLane.allCases)
    func pauses(lane: RequestLane) {
        for common in [false, true] {
            for own in [false, true] {
                var controls = AppControls()
                controls.set(.pause, of: Self.name, common ? .pause : nil)
                controls.set(.pause, of: Self.name, in: lane, own ? .pause : nil)
                for each in RequestLane.allCases {
                    let isPaused = common || (own && each == lane)
                    #expect(controls.control(of: Self.name, in: each) == AppControl(isPaused: isPaused))
                }
            }
        }
    }

    @Test("A lane's own pace goes first; one that names none is for normal and bulk", arguments: RequestLane.allCases)
    func paces(lane: RequestLane) {
        for common in [nil, 5] as [UInt32?] {
            // Also one that is faster.
            for own in [nil, 3, 7] as [UInt32?] {
                var controls = AppControls()
                controls.set(.pace, of: Self.name, common.map { .pace(notificationsPerSecond: $0) })
                controls.set(.pace, of: Self.name, in: lane, own.map { .pace(notificationsPerSecond: $0) })
                for each in RequestLane.allCases {
                    let inherited = each == .urgent ? nil : common
                    let pace = each == lane ? own ?? inherited : inherited
                    let expected = AppControl(notificationsPerSecond: pace)
                    #expect(controls.control(of: Self.name, in: each) == expected, "\(each)")
                }
            }
        }
    }

    @Test("A discard that names no lane is the normal lane's: the ends of partitions are those of one lane")
    func discards() {
        var controls = AppControls()
        controls.set(.discard, of: Self.name, .discard(Self.order))
        let later = AppControl.Discard(publishedBefore: 2000, ends: [0: 20])
        controls.set(.discard, of: Self.name, in: .bulk, .discard(later))
        #expect(controls.control(of: Self.name, in: .urgent).discard == nil)
        #expect(controls.control(of: Self.name, in: .normal).discard == Self.order)
        #expect(controls.control(of: Self.name, in: .bulk).discard == later)
        #expect(AppControl.Lever.discard.named(for: .normal) == nil)
        for lever in AppControl.Lever.allCases where lever != .discard { #expect(lever.named(for: .normal) == .normal) }
        for lever in AppControl.Lever.allCases { #expect(lever.named(for: .bulk) == .bulk) }
    }

    @Test("The levers of a topic by lane are those that hold there; a lane in which none holds is left out")
    func byLane() {
        var controls = AppControls()
        #expect(controls.controlsByLane(of: Self.name).isEmpty)
        controls.set(.pause, of: Self.name, in: .bulk, .pause)
        #expect(controls.controlsByLane(of: Self.name) == [.bulk: AppControl(isPaused: true)])
        controls.set(.pace, of: Self.name, .pace(notificationsPerSecond: 5))
        let bulk = AppControl(isPaused: true, notificationsPerSecond: 5)
        let paced = AppControl(notificationsPerSecond: 5)
        #expect(controls.controlsByLane(of: Self.name) == [.normal: paced, .bulk: bulk])
        let other = AppControls.Name(environment: "sandbox", bundleID: Self.name.bundleID)
        #expect(controls.controlsByLane(of: other).isEmpty)
    }

    @Test("A discard covers what was published before its time and was there when it was given")
    func discard() {
        let order = Self.order
        #expect(order.covers(partition: 0, offset: 9, publishedAt: 999))
        #expect(!order.covers(partition: 0, offset: 9, publishedAt: 1000), "published at the time")
        #expect(!order.covers(partition: 0, offset: 10, publishedAt: 0), "published later, with a wrong clock")
        #expect(!order.covers(partition: 0, offset: 9, publishedAt: nil), "the log does not tell")
        #expect(!order.covers(partition: 1, offset: 0, publishedAt: 0), "a partition that was not there")
        #expect(!order.covers(partition: 2, offset: 0, publishedAt: 0), "a partition that was empty")
        #expect(order.mayCover(partition: 0, offset: 0) && !order.mayCover(partition: 0, offset: 10))
    }

    @Test("A pause and a pace slow a topic down, a discard does not")
    func slowsDown() {
        #expect(AppControl(isPaused: true).slowsDown && AppControl(notificationsPerSecond: 5).slowsDown)
        #expect(!AppControl().slowsDown && !AppControl(discard: Self.order).slowsDown)
    }

    @Test("Topics stand in the order of their environments, those of one in that of their bundles")
    func names() {
        let names = [("live", "com.example.b"), ("live", "com.example.c"), ("sandbox", "com.example.a")]
            .map { AppControls.Name(environment: $0, bundleID: $1) }
        #expect(names.reversed().sorted() == names)
    }
}
