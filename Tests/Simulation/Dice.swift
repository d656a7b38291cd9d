import Workbench

/// Seeded random choices, so that a failing seed fails again everywhere.
struct Dice: RandomNumberGenerator {
    private var generator: SeededGenerator

    /// - Parameter stream: tells apart the dice of one seed, so that what is left out of a world disturbs little else
    ///   of it.
    init(seed: UInt64, stream: UInt64 = 0) {
        // Mixed first: the sequences of two seeds would else be one sequence, begun at different places.
        var first = SeededGenerator(seed: seed)
        generator = SeededGenerator(seed: SeededGenerator.mixed(first.next() ^ (stream &* 0xD1B5_4A32_D192_ED03)))
    }

    mutating func next() -> UInt64 {
        generator.next()
    }

    /// A number of the range, each about as likely.
    mutating func pick(_ range: ClosedRange<Int>) -> Int {
        let span = UInt64(range.upperBound - range.lowerBound + 1)
        return range.lowerBound + Int(next().multipliedFullWidth(by: span).high)
    }

    /// True with a probability of `percent` in 100.
    mutating func chance(_ percent: Int) -> Bool {
        pick(0...99) < percent
    }

    /// A time, given in milliseconds.
    mutating func time(_ milliseconds: ClosedRange<Int>) -> VirtualTime {
        VirtualTime(pick(milliseconds.lowerBound * 1000...milliseconds.upperBound * 1000)) * 1000
    }
}
