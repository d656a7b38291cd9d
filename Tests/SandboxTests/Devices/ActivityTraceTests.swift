import Testing

@testable import Sandbox

/// The sample that people see has to be small, fair and quick to follow.
struct ActivityTraceTests {
    /// A class, because `#expect` cannot call what mutates.
    private final class Watched {
        var trace = ActivityTrace()

        init(share: Int = 1) {
            trace.watch(share: share)
        }

        func note(_ kind: ActivityTrace.Kind, _ devices: Range<UInt32>) {
            for device in devices { trace.noteEvent(kind, device: device) }
        }

        func drain() -> ActivityTrace.Sample { trace.drain() }
    }

    @Test("Without a watcher nothing is kept; when the last watcher goes, everything is forgotten")
    func unwatched() {
        let watched = Watched()
        watched.trace.unwatch()
        watched.note(.delivered, 0..<10)
        #expect(watched.drain() == [[], [], [], []])
        watched.trace.watch()
        watched.note(.delivered, 0..<10)
        watched.trace.unwatch()
        #expect(watched.drain() == [[], [], [], []])
        #expect(!watched.trace.isWatched)
    }

    @Test("Few events are all kept, by kind, in their order, once")
    func few() {
        let watched = Watched()
        watched.note(.delivered, 5..<8)
        watched.note(.refused, 1..<2)
        watched.note(.stored, 9..<10)
        watched.note(.feedback, 4..<5)
        #expect(watched.drain() == [[5, 6, 7], [9], [4], [1]])
        #expect(watched.drain() == [[], [], [], []])
    }

    @Test("However many events there are, a window keeps fewer than its quota, from its beginning to its end")
    func bounded() {
        let watched = Watched()
        for window in 0..<5 {
            watched.note(.delivered, 0..<1_000_000)
            let delivered = watched.drain()[0]
            #expect(delivered.count < ActivityTrace.fullQuotas[0])
            #expect(delivered.count >= ActivityTrace.fullQuotas[0] / 2, "window \(window)")
            let quarters = (0..<4 as Range<UInt32>).map { quarter in delivered.count { $0 / 250_000 == quarter } }
            #expect((quarters.min() ?? 0) > delivered.count / 6, "\(quarters)")
        }
    }

    @Test("One refusal among a million deliveries is kept")
    func rare() {
        let watched = Watched()
        watched.note(.delivered, 0..<500_000)
        watched.note(.refused, 77..<78)
        watched.note(.delivered, 0..<500_000)
        #expect(watched.drain()[3] == [77])
    }

    @Test("When the rate falls, the next window keeps everything again")
    func recovers() {
        let watched = Watched()
        watched.note(.delivered, 0..<1_000_000)
        _ = watched.drain()
        // At most the rest of the high rate's distance.
        watched.note(.delivered, 0..<10)
        _ = watched.drain()
        watched.note(.delivered, 0..<10)
        #expect(watched.drain()[0] == Array(0..<10))
    }

    @Test("Devices in order are not sampled at a fixed distance: that would look like stripes")
    func jitter() {
        let watched = Watched()
        watched.note(.delivered, 0..<1_000_000)
        let delivered = watched.drain()[0]
        let distances = Set(zip(delivered, delivered.dropFirst()).map { $1 - $0 })
        #expect(distances.count > 100)
    }

    @Test("Many topics share the quotas")
    func share() {
        let watched = Watched(share: 8)
        watched.note(.delivered, 0..<1_000_000)
        #expect(watched.drain()[0].count < ActivityTrace.fullQuotas[0] / 8)
    }

    @Test("The ledger notes deliveries in the trace")
    func ledger() {
        let fixture = TopicFixture()
        fixture.ledger.trace.watch()
        #expect(fixture.accept(device: 7))
        let sample = fixture.ledger.trace.drain()
        #expect(sample[0] == [7])
    }
}
