/// A change of the number on an app's icon.
public enum BadgeChange: Hashable, Sendable {
    /// The number itself; 0 takes it away.
    case set(UInt32)
    /// Added to the token's number, which stays within 0 and the largest `UInt32`.
    case add(Int32)

    /// The number after the change.
    public func applied(to number: UInt32) -> UInt32 {
        switch self {
        case .set(let number): number
        case .add(let summand): UInt32(clamping: Int64(number) + Int64(summand))
        }
    }
}
