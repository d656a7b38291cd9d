import Testing

@testable import PipelineCore

/// The time for replacing one connection.
@Suite struct ConnectionRotationTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func wait(_ rotation: ConnectionRotation) -> Duration? {
        rotation.due.map { Self.start.elapsed(until: $0) }
    }

    @Test("Another edition brings the time forward, to some moment of the spread")
    func spread() {
        for maxAge in [nil, Duration.seconds(100)] {
            for (random, seconds) in [(0, 0), (UInt64.max / 2 + 1, 2.5)] as [(UInt64, Double)] {
                var rotation = ConnectionRotation(edition: 3, maxAge: maxAge, now: Self.start, random: 0)
                rotation.noteEdition(3, now: Self.start, random: random)
                #expect(wait(rotation) == maxAge && rotation.reason == .age)
                rotation.noteEdition(4, now: Self.start, random: random)
                #expect(wait(rotation) == .seconds(seconds) && rotation.reason == .credential)
            }
        }
    }

    @Test("An edition is acted upon once, and one after it anew; an earlier end of age stays")
    func once() {
        var rotation = ConnectionRotation(edition: 1, maxAge: .seconds(2), now: Self.start, random: 0)
        rotation.noteEdition(2, now: Self.start, random: .max)
        #expect(wait(rotation) == .seconds(2))
        rotation.postpone(until: Self.start + .seconds(60))
        rotation.noteEdition(2, now: Self.start, random: 0)
        #expect(wait(rotation) == .seconds(60))
        rotation.noteEdition(3, now: Self.start, random: 0)
        #expect(wait(rotation) == .zero && rotation.isDue(now: Self.start))
    }

    @Test("Without an age and with its own credential a connection is never replaced")
    func never() {
        var rotation = ConnectionRotation(edition: 7, maxAge: nil, now: Self.start, random: 5)
        rotation.noteEdition(7, now: Self.start, random: 0)
        rotation.postpone(until: Self.start)
        #expect(wait(rotation) == nil && !rotation.isDue(now: Self.start + .seconds(1_000_000)))
    }
}
