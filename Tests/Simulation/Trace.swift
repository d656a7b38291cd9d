/// Records the events of a world. A hash of everything, to compare runs by, and a story for people if one is wanted.
struct Trace {
    /// FNV-1a over times, kinds and numbers. No text and no hash of a process goes in, so that it is the same
    /// everywhere.
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) var events = 0
    private(set) var story: [String] = []
    let tells: Bool

    /// An event that can happen.
    enum Kind: UInt64 {
        case fault, accepted, refused, outcome, committed, commitRefused, assigned, revoked, fetched, connecting
        case connected, disconnected, answered, tombstone, started, stopped, crashed, generation, deadLetter, committing
        case changed, moved
    }

    init(tells: Bool) {
        self.tells = tells
    }

    /// - Parameter text: for the story.
    mutating func note(
        _ kind: Kind,
        _ first: Int = 0,
        _ second: Int = 0,
        at time: VirtualTime,
        _ text: @autoclosure () -> String
    ) {
        events += 1
        mix(time)
        mix(kind.rawValue)
        mix(UInt64(bitPattern: Int64(first)))
        mix(UInt64(bitPattern: Int64(second)))
        if tells { story.append("\(Self.clock(time)) \(text())") }
    }

    /// Milliseconds since the world's beginning.
    private static func clock(_ time: VirtualTime) -> String {
        let microseconds = (time - World.start) / 1000
        let fraction = String(microseconds % 1000 + 1000).dropFirst()
        return "\(microseconds / 1000).\(fraction)ms"
    }

    private mutating func mix(_ word: UInt64) {
        hash = (hash ^ word) &* 0x0000_0100_0000_01B3
        hash ^= hash >> 29
    }
}
