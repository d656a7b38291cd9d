/// First digits and lengths of the card numbers of one issuer, or network, as their publications for merchants say.
struct CardIssuer {
    /// Digits that prefixes are compared by.
    static let prefixDigits = 6

    let prefixes: [ClosedRange<Int>]
    let lengths: ClosedRange<Int>

    /// - Parameter prefixes: ranges of first digits, all of one length.
    private init(_ lengths: ClosedRange<Int>, _ prefixes: ClosedRange<Int>...) {
        self.prefixes = prefixes.map { Self.padded($0) }
        self.lengths = lengths
    }

    /// The range with six digits.
    private static func padded(_ range: ClosedRange<Int>) -> ClosedRange<Int> {
        var factor = 1
        while range.upperBound * factor < 100_000 { factor *= 10 }
        return range.lowerBound * factor...(range.upperBound + 1) * factor - 1
    }

    /// - Parameter prefix: the first six digits.
    func issues(prefix: Int, digits: Int) -> Bool {
        lengths.contains(digits) && prefixes.contains { $0.contains(prefix) }
    }

    static let table = [
        // Visa; 13 digits are older.
        CardIssuer(13...13, 4...4),
        CardIssuer(16...16, 4...4),
        CardIssuer(19...19, 4...4),
        // Mastercard.
        CardIssuer(16...16, 51...55, 2221...2720),
        // Maestro.
        CardIssuer(13...19, 5018...5018, 5020...5020, 5038...5038, 5893...5893, 6304...6304, 6759...6759, 6761...6763),
        // American Express.
        CardIssuer(15...15, 34...34, 37...37),
        // Diners Club.
        CardIssuer(14...14, 300...305, 3095...3095, 36...36, 38...39),
        CardIssuer(16...16, 300...305, 3095...3095, 36...36, 38...39),
        // Discover.
        CardIssuer(16...19, 6011...6011, 644...649, 65...65),
        // JCB.
        CardIssuer(16...19, 3528...3589),
        // UnionPay.
        CardIssuer(16...19, 62...62, 81...81),
        // Mir.
        CardIssuer(16...19, 2200...2204),
        // RuPay.
        CardIssuer(16...16, 508...508, 60...60, 82...82),
        // Troy.
        CardIssuer(16...16, 9792...9792),
    ]
}
