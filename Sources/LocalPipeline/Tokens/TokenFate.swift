/// The state of a token that follows from what was said of it, in any order. Pure.
///
/// The newest registration counts. A tombstone is there only if every registration is older; of several the newest
/// counts, and of two of one second the one by feedback.
package struct TokenFate: Equatable, Sendable {
    /// UNIX seconds; 0: never.
    package var registeredAt: UInt32 = 0
    /// UNIX seconds; 0: no tombstone.
    package var tombstonedAt: UInt32 = 0
    /// As ``TokenReport`` names it.
    package var reason = "none"
    /// Of the newest registration.
    package var locale = ""

    /// One thing that was said of a token.
    package enum Statement: Equatable, Sendable {
        /// UNIX seconds, all of them.
        case registered(UInt32)
        case unregistered(UInt32)
        case missing(UInt32)
    }

    private static let feedback = "feedback"

    package init(registeredAt: UInt32 = 0, tombstonedAt: UInt32 = 0, reason: String = "none", locale: String = "") {
        self.registeredAt = registeredAt
        self.tombstonedAt = tombstonedAt
        self.reason = reason
        self.locale = locale
    }

    package init(_ statements: some Sequence<Statement>) {
        var death: (time: UInt32, reason: String)?
        for statement in statements {
            switch statement {
            case .registered(let time): registeredAt = max(registeredAt, time)
            case .unregistered(let time):
                if time > death?.time ?? 0 { death = (time, "unregistered") }
            case .missing(let time):
                if time >= death?.time ?? 0 { death = (time, Self.feedback) }
            }
        }
        if registeredAt > 0 { locale = RegistrationStream.locale(at: registeredAt) }
        if let death, death.time > registeredAt { (tombstonedAt, reason) = (death.time, death.reason) }
    }

    /// The statement, or a newer one that outweighs it, is in this state.
    package func honours(_ statement: Statement) -> Bool {
        switch statement {
        case .registered(let time): registeredAt >= time
        case .unregistered(let time), .missing(let time): registeredAt >= time || tombstonedAt >= time
        }
    }
}
