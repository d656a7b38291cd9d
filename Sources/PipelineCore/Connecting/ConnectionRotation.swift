/// The time for replacing an open connection: for its age, or because new connections are opened with another
/// credential than it was.
///
/// A credential has an *edition*: a number that rises with each certificate, or list of authorities, that takes the
/// place of a former one. Pure: time and randomness are arguments.
public struct ConnectionRotation: Equatable, Sendable {
    /// The reason for replacing a connection.
    public enum Reason: Int, Equatable, Sendable, CaseIterable {
        case age
        case credential

        /// The reason as a label.
        public var name: String {
            switch self {
            case .age: "age"
            case .credential: "credential"
            }
        }
    }

    /// The connections of a process with a former credential are replaced within this time, so that they do not all
    /// reconnect at once. [ours]
    public static let spread = Duration.seconds(5)
    /// A peer refuses a certificate when the handshake is done here: with TLS 1.3 the refusal comes behind it. A
    /// connection with a new credential has to last for this time before one with the former takes no more. [ours]
    public static let trial = Duration.seconds(2)

    /// The edition of the credential with which the connection was opened.
    public let edition: UInt64
    /// The time for replacing it; nil: never.
    public private(set) var due: MonotonicTime?
    /// The edition of the credential with which new connections are opened.
    private(set) var latest: UInt64

    /// - Parameters:
    ///   - maxAge: the greatest age; nil: any. The time is up to a quarter earlier, so that connections opened together
    ///     do not end together.
    ///   - random: 64 random bits.
    public init(edition: UInt64, maxAge: Duration?, now: MonotonicTime, random: UInt64) {
        self.edition = edition
        latest = edition
        due = maxAge.map { age in
            let early = random.multipliedFullWidth(by: age.wholeNanoseconds / 4).high
            return now + .nanoseconds(Int64(clamping: age.wholeNanoseconds - early))
        }
    }

    /// New connections are opened with another credential.
    public var isOutdated: Bool { latest != edition }

    /// The reason that counts if it is due.
    public var reason: Reason { isOutdated ? .credential : .age }

    public func isDue(now: MonotonicTime) -> Bool { due.map { $0 <= now } ?? false }

    /// New connections are opened with a credential of this edition from now on. Brings the time forward if it is
    /// another than before.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func noteEdition(_ edition: UInt64, now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard edition != latest else { return }
        latest = edition
        guard isOutdated else { return }
        let wait = random().multipliedFullWidth(by: Self.spread.wholeNanoseconds).high
        let next = now + .nanoseconds(Int64(clamping: wait))
        due = min(due ?? next, next)
    }

    /// It is not replaced before this time, if at all.
    public mutating func postpone(until time: MonotonicTime) {
        if due != nil { due = time }
    }
}
