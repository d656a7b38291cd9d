import Foundation
import PushSchemas
import PushTopics
import SwiftProtobuf

@testable import TokenState

/// The Kafka topics whose records appliers apply.
enum ApplyingSource: Int, Sendable, CaseIterable {
    case registrations, feedback, tombstones

    var topic: String {
        switch self {
        case .registrations: World.names.registrations
        case .feedback: World.names.feedback
        case .tombstones: World.names.tombstones
        }
    }
}

/// A record that is published for appliers.
struct ApplyingRecord: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// - Parameter replaced: the token whose place it takes.
        case register(token: Int, replaced: Int?, texts: Int)
        case unregister(token: Int)
        case describe(token: Int, texts: Int)
        case feedback(token: Int)
        /// A worker's tombstone: the gateway called the token invalid.
        case invalid(token: Int)
        case unreadable
    }

    var time: VirtualTime
    var source: ApplyingSource
    var partition: Int32
    var content: Content
    /// Steps of ``stepSeconds`` from ``beginning``.
    var at: Int

    /// UNIX seconds of the earliest change.
    static let beginning: UInt32 = 1_700_000_000
    /// Changes happen at so few times that many have the same.
    static let times = 12
    /// Less than the unit of time in a filter of dead tokens, and not by a whole number of times.
    private static let stepSeconds = 40
    /// UNIX seconds at which everything is read and published.
    static let published = Int64(beginning) + 3600

    private static let locales = ["", "de", "pt-BR", "en"]
    private static let zones = ["", "UTC", "Europe/Berlin"]
    /// Descriptions of a device.
    static let descriptions = locales.count * zones.count
    static let tokens: [[UInt8]] = (0..<ApplyingPlan.mostTokens).map { number in
        var dice = Dice(seed: UInt64(number), stream: 78)
        return [UInt8(number)] + (1..<32).map { _ in UInt8(dice.pick(0...255)) }
    }

    static let bundleID = World.bundles[0]
    static let key = Array(bundleID.utf8)

    /// The number of a token; nil: it is none of the world's.
    static func number(of token: some Collection<UInt8>) -> Int? {
        guard let first = token.first.map(Int.init), tokens.indices.contains(first), token.elementsEqual(tokens[first])
        else { return nil }
        return first
    }

    private var second: UInt32 { Self.beginning + UInt32(at * Self.stepSeconds) }

    /// The changes that the record means, in their order.
    var changes: [ApplyingChange] {
        switch content {
        case .register(let token, let replaced, let texts):
            let registered = change(token, .register, texts)
            guard let replaced, replaced != token else { return [registered] }
            return [registered, death(of: replaced, .unregistered)]
        case .unregister(let token): return [death(of: token, .unregistered)]
        case .describe(let token, let texts): return [change(token, .describe, texts)]
        case .feedback(let token): return [death(of: token, .feedback)]
        case .invalid(let token): return [death(of: token, .invalid)]
        case .unreadable: return []
        }
    }

    private func change(_ token: Int, _ kind: ApplyingChange.Kind, _ texts: Int) -> ApplyingChange {
        let texts = TokenTexts(locale: Self.locale(texts), timeZone: Self.zone(texts))
        return ApplyingChange(token: token, kind: kind, at: second, code: texts.flags, texts: texts.bytes)
    }

    private func death(of token: Int, _ reason: TokenRecord.Reason) -> ApplyingChange {
        ApplyingChange(token: token, kind: .tombstone, at: second, code: reason.rawValue)
    }

    private static func locale(_ texts: Int) -> String { locales[texts % locales.count] }
    private static func zone(_ texts: Int) -> String { zones[texts / locales.count] }

    /// The record's value.
    var value: [UInt8] {
        let message: any Message
        switch content {
        case .register(let token, let replaced, let texts):
            message = registration(token, .register, texts, replaced: replaced)
        case .unregister(let token): message = registration(token, .unregister, 0)
        case .describe(let token, let texts): message = registration(token, .describe, texts)
        case .feedback(let token):
            message = PushFeedbackTuple.with {
                $0.environment = World.environment
                $0.timestamp = second
                $0.token = Data(Self.tokens[token])
                $0.harvestedAt = Self.published
            }
        case .invalid(let token):
            message = PushTombstone.with {
                $0.token = Data(Self.tokens[token])
                $0.bundleID = Self.bundleID
                $0.environment = World.environment
                $0.tombstonedAt = Int64(second)
                $0.reason = .invalid
            }
        case .unreadable: return [0xFF, 0xFF]
        }
        return (try? message.serializedBytes()) ?? []
    }

    private func registration(
        _ token: Int,
        _ kind: PushRegistrationKind,
        _ texts: Int,
        replaced: Int? = nil
    ) -> PushRegistration {
        PushRegistration.with {
            $0.environment = World.environment
            $0.token.raw = Data(Self.tokens[token])
            $0.registeredAt = Int64(second)
            $0.kind = kind
            $0.locale = Self.locale(texts)
            $0.timeZone = Self.zone(texts)
            if let replaced { $0.replacedToken.raw = Data(Self.tokens[replaced]) }
        }
    }
}
