import BelfrySupport
import Foundation
import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Decodes a record of push.registrations into changes of the token state.
struct RegistrationDecoder {
    /// The configured environments, sorted.
    var environments: [String]
    /// Lengths of token that are taken.
    var tokenBytes: ClosedRange<Int>
    /// UNIX seconds.
    var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }

    func changes(for message: KafkaMessageView) throws(RecordRefusal) -> [TokenChange] {
        let registration = try RecordRefusal.of { () throws(RecordError) in
            try RequestDecoding.decode(PushRegistration.self, from: message.value, as: message.contentType)
        }
        let key = try RecordRefusal.of { () throws(RecordError) in try RecordKey(parsing: message.key) }
        let environment = try resolve(registration.environment)
        let seconds = try time(of: registration, message)
        let texts = TokenTexts(locale: registration.locale, timeZone: registration.timeZone)
        func change(_ token: PushDeviceToken, _ kind: TokenChange.Kind) throws(RecordRefusal) -> TokenChange {
            TokenChange(environment: environment, bundleID: key.bundleID, token: try bytes(of: token), kind: kind)
        }
        switch registration.kind {
        case .unspecified, .register:
            let registered = try change(registration.token, .register(at: seconds, texts))
            guard registration.hasReplacedToken else { return [registered] }
            let replaced = try change(registration.replacedToken, .tombstone(at: seconds, .unregistered))
            // An app that says the token took its own place only registers it.
            return replaced.token == registered.token ? [registered] : [registered, replaced]
        case .unregister:
            return [try change(registration.token, .tombstone(at: seconds, .unregistered))]
        case .describe:
            return [try change(registration.token, .describe(at: seconds, texts))]
        case .UNRECOGNIZED(let number):
            throw RecordRefusal(
                reason: RecordFault.valueUndecodable.rawValue,
                detail: "registration kind \(number) is not known"
            )
        }
    }

    private func bytes(of token: PushDeviceToken) throws(RecordRefusal) -> [UInt8] {
        let token = try RecordRefusal.of { () throws(RecordError) in try token.bytes() }
        guard tokenBytes.contains(token.count) else {
            throw .tokenLength(token.count, allowed: tokenBytes)
        }
        return token
    }

    private func resolve(_ name: String) throws(RecordRefusal) -> String {
        if name.isEmpty, environments.count == 1 { return environments[0] }
        guard environments.contains(name) else {
            throw RecordRefusal(
                reason: "environment-unknown",
                detail: "environment '\(printable(name))' is not configured; allowed: "
                    + environments.joined(separator: ", ")
            )
        }
        return name
    }

    /// UNIX seconds: as the registration says, else when its record was published.
    ///
    /// The record's time alone is no witness: with `CreateTime`, Kafka's default, the producer writes that one, too.
    private func time(of registration: PushRegistration, _ message: KafkaMessageView) throws(RecordRefusal) -> UInt32 {
        let seconds =
            registration.registeredAt == 0 ? (message.timestampMilliseconds ?? 0) / 1000 : registration.registeredAt
        guard let seconds = UInt32(exactly: seconds), seconds > 0 else {
            throw RecordRefusal(
                reason: "timestamp-out-of-range",
                detail: "'registered_at' is \(registration.registeredAt); UNIX seconds, 1...\(UInt32.max), are allowed"
            )
        }
        let now = now()
        let witness = min(message.timestampMilliseconds.map { $0 / 1000 } ?? now, now)
        guard !ForeignClock.isTooFarAhead(seconds, of: witness) else {
            let claim = registration.registeredAt == 0 ? "the record is of" : "'registered_at' is"
            let known = witness == now ? "the time of its reading" : "the time of its record"
            throw RecordRefusal(
                reason: "timestamp-in-future",
                detail: "\(claim) \(seconds), later than \(witness), \(known)"
            )
        }
        return seconds
    }
}
