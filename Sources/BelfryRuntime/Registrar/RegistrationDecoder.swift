import KafkaClient
import PushSchemas

/// What a record of push.registrations asks of the token state.
struct RegistrationDecoder {
    /// The configured environments, sorted.
    var environments: [String]
    /// Lengths of token that are taken.
    var tokenBytes: ClosedRange<Int>

    func change(for message: KafkaMessageView) throws(RecordRefusal) -> TokenChange {
        let registration = try RecordRefusal.of { () throws(RecordError) in
            try RequestDecoding.decode(PushRegistration.self, from: message.value, as: message.contentType)
        }
        let key = try RecordRefusal.of { () throws(RecordError) in try RecordKey(parsing: message.key) }
        let environment = try resolve(registration.environment)
        let token = try RecordRefusal.of { () throws(RecordError) in try registration.token.bytes() }
        guard tokenBytes.contains(token.count) else {
            throw RecordRefusal(
                reason: "token-length",
                detail: "a token of \(token.count) bytes; allowed: \(tokenBytes)"
            )
        }
        let seconds = try time(of: registration, message)
        let tokenKey = token.withUnsafeBytes {
            TokenKey(environment: environment, bundleID: key.bundleID).bytes(token: $0)
        }
        switch registration.kind {
        case .unspecified, .register:
            return .register(
                key: tokenKey,
                at: seconds,
                locale: registration.locale,
                timeZone: registration.timeZone
            )
        case .unregister:
            return .tombstone(key: tokenKey, at: seconds, reason: .unregistered)
        case .UNRECOGNIZED(let number):
            throw RecordRefusal(
                reason: RecordFault.valueUndecodable.rawValue,
                detail: "registration kind \(number) is not known"
            )
        }
    }

    private func resolve(_ name: String) throws(RecordRefusal) -> String {
        if name.isEmpty, environments.count == 1 { return environments[0] }
        guard environments.contains(name) else {
            throw RecordRefusal(
                reason: "environment-unknown",
                detail: "environment '\(name)' is not configured; allowed: \(environments.joined(separator: ", "))"
            )
        }
        return name
    }

    /// UNIX seconds: as the registration says, else when its record was published.
    private func time(of registration: PushRegistration, _ message: KafkaMessageView) throws(RecordRefusal) -> UInt32 {
        let seconds =
            registration.registeredAt == 0 ? (message.timestampMilliseconds ?? 0) / 1000 : registration.registeredAt
        guard let seconds = UInt32(exactly: seconds), seconds > 0 else {
            throw RecordRefusal(
                reason: "timestamp-out-of-range",
                detail: "'registered_at' is \(registration.registeredAt); UNIX seconds, 1...\(UInt32.max), are allowed"
            )
        }
        return seconds
    }
}
