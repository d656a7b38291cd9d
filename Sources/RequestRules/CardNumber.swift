/// The digits of what may be a payment card number, as they are read.
struct CardNumber {
    /// Digits of card numbers that the rule knows; ISO/IEC 7812-1 allows 8 to 19.
    static let lengths = 13...19

    private(set) var count = 0
    /// The first six digits, or those that there are.
    private var prefix = 0
    /// Sums of the digits by Luhn's rule, as if the last digit counted once, and as if it counted twice.
    private var sum = 0
    private var otherSum = 0
    /// Digits of the group being read.
    private var groupCount = 0
    /// Digits of the groups before, two decimals each: 406 is a group of four and one of six.
    private var grouping = 0

    /// Appends a digit; false: the number is too long.
    mutating func append(_ digit: Int) -> Bool {
        guard count < Self.lengths.upperBound else { return false }
        if count < CardIssuer.prefixDigits { prefix = prefix * 10 + digit }
        count += 1
        groupCount += 1
        let doubled = digit < 5 ? digit * 2 : digit * 2 - 9
        (sum, otherSum) = (otherSum + digit, sum + doubled)
        return true
    }

    /// Ends a group of digits; false: no card shows its number in groups that begin so.
    mutating func endGroup() -> Bool {
        grouping = grouping * 100 + groupCount
        groupCount = 0
        switch grouping {
        case 4, 6, 4_06, 4_04, 4_04_04, 4_04_04_04: return true
        default: return false
        }
    }

    /// The digits read are a number of an issuer with the right check digit, in one piece or grouped as cards show it.
    var isValid: Bool {
        Self.lengths.contains(count) && sum % 10 == 0 && isGrouped
            && CardIssuer.table.contains { $0.issues(prefix: prefix, digits: count) }
    }

    private var isGrouped: Bool {
        switch (grouping, groupCount) {
        // In one piece.
        case (0, _): true
        // American Express, Diners Club; long numbers of UnionPay.
        case (4_06, 4...5), (6, 13): true
        case (4_04_04, 1...4), (4_04_04_04, 1...3): true
        default: false
        }
    }
}
