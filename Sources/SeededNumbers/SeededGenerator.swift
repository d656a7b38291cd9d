/// SplitMix64: the same numbers for the same seed on every machine, so that a failing seed fails again everywhere.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    @inlinable
    public init(seed: UInt64) {
        state = seed
    }

    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// A word whose every bit depends on every bit of `word`.
    @inlinable
    public static func mixed(_ word: UInt64) -> UInt64 {
        var mixed = word
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Uniform in the range.
    @inlinable
    public mutating func pick(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    /// True with a probability of `percent` in 100.
    @inlinable
    public mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    @inlinable
    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// A random number of them, `limit` at most.
    @inlinable
    public mutating func bytes(upTo limit: Int) -> [UInt8] {
        bytes(pick(0...limit))
    }
}
