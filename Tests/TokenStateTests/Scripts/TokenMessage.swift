import APNsProtocol
import PipelineCore
import TestSupport

@testable import PipelineTestSupport
@testable import TokenState

/// The fields of a record.
struct TokenFields: Equatable {
    var reason = TokenRecord.Reason.none
    var registeredAt: UInt32 = 0
    var describedAt: UInt32 = 0
    var tombstonedAt: UInt32 = 0
    var locale = ""
    var timeZone = ""
    var badge: UInt32?
    var refused: [RefusedKind] = []

    var isDead: Bool { tombstonedAt > registeredAt }
}

extension TokenFields {
    init(_ record: TokenRecord) {
        self.init(
            reason: record.reason,
            registeredAt: record.registeredAt,
            describedAt: record.describedAt,
            tombstonedAt: record.tombstonedAt,
            locale: record.texts.locale,
            timeZone: record.texts.timeZone,
            badge: record.badge,
            refused: record.refused
        )
    }
}

/// A message about a token. Its times are few, so that they meet.
enum TokenMessage: Equatable {
    case register(at: UInt32, locale: String)
    case describe(at: UInt32, locale: String)
    case tombstone(at: UInt32, TokenRecord.Reason)
    case refuse(at: UInt32, TopicKind)

    static func random(using generator: inout SeededGenerator) -> TokenMessage {
        let at = UInt32.random(in: 1...4, using: &generator)
        let locale = ["", "de", "EN", "zh-Hant"].randomElement(using: &generator) ?? ""
        switch Int.random(in: 0..<7, using: &generator) {
        case 0, 1: return .register(at: at, locale: locale)
        case 2: return .describe(at: at, locale: locale)
        case 3, 4:
            // The third one is of a later version.
            let kinds = [TopicKind.app, PushType.voip.topicKind, TopicKind(rawValue: 200)]
            return .refuse(at: at, kinds.randomElement(using: &generator) ?? .app)
        default:
            return .tombstone(at: at, [.feedback, .invalid, .unregistered].randomElement(using: &generator) ?? .none)
        }
    }

    func change(_ token: [UInt8]) -> TokenChange {
        switch self {
        case .register(let at, let locale): .of(token, .register(at: at, TokenTexts(locale: locale)))
        case .describe(let at, let locale): .of(token, .describe(at: at, TokenTexts(locale: locale)))
        case .tombstone(let at, let reason): .of(token, .tombstone(at: at, reason))
        case .refuse(let at, let kind): .of(token, .refuse(at: at, kind))
        }
    }

    /// The description of the device: its time and language; nil for a death.
    private var description: (at: UInt32, locale: String)? {
        switch self {
        case .register(let at, let locale), .describe(let at, let locale): (at, locale)
        case .tombstone, .refuse: nil
        }
    }

    /// The state in one look over all messages, whatever their order.
    static func expected(_ messages: [TokenMessage]) -> TokenFields {
        var expected = TokenFields()
        for case .register(let at, _) in messages { expected.registeredAt = max(expected.registeredAt, at) }
        let described = messages.compactMap(\.description)
        let last = described.map(\.at).max() ?? 0
        expected.describedAt = last > expected.registeredAt ? last : 0
        // Of what was told in one second that with the greater texts, each after its length.
        for (at, locale) in described
        where at == last && (locale.utf8.count, locale) > (expected.locale.utf8.count, expected.locale) {
            expected.locale = locale
        }
        let registeredAt = expected.registeredAt > 0 ? expected.registeredAt : nil
        for case .tombstone(let at, let reason) in messages
        where TombstoneRule.isDead(registeredAt: registeredAt, missingAt: at) {
            if at > expected.tombstonedAt || (at == expected.tombstonedAt && reason.rawValue < expected.reason.rawValue)
            {
                expected.tombstonedAt = at
                expected.reason = reason
            }
        }
        var refused: [TopicKind: UInt32] = [:]
        for case .refuse(let at, let kind) in messages
        where TombstoneRule.isDead(registeredAt: registeredAt, missingAt: at) {
            refused[kind] = max(refused[kind] ?? 0, at)
        }
        // The latest first.
        expected.refused = refused.map { RefusedKind(kind: $0, at: $1) }
            .sorted { ($1.at, $0.kind.rawValue) < ($0.at, $1.kind.rawValue) }
        return expected
    }
}

extension [TokenMessage] {
    /// The same messages in the same order of first appearance, some of them once more later on.
    func withRepetitions(using generator: inout SeededGenerator) -> [TokenMessage] {
        var repeated = self
        for message in self where Bool.random(using: &generator) {
            let first = repeated.firstIndex(of: message) ?? 0
            repeated.insert(message, at: Int.random(in: (first + 1)...repeated.count, using: &generator))
        }
        return repeated
    }
}

func permutations(_ messages: [TokenMessage]) -> [[TokenMessage]] {
    guard messages.count > 1 else { return [messages] }
    return messages.indices.flatMap { index in
        var rest = messages
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}
