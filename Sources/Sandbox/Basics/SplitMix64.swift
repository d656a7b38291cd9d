/// Sebastiano Vigna's SplitMix64: small, fast, and the same numbers for the same seed on every machine.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Any seed is as good as another.
    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// True with a probability of 0...1: never for 0, always for 1.
    mutating func happens(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }
}
