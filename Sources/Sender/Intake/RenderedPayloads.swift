import PayloadRendering
import PipelineCore
import PushSchemas
import RequestRules

/// The payloads of one record with a structured notification, in the arena of its batch.
///
/// One for each language is made when the record is taken in. Those of tokens with a badge or arguments of their own
/// are made when the token's language and number are known, each when its notifications are sent, so that there is one
/// at a time. Notifications have positions here: their place among those of the record that are sent, from 0.
final class RenderedPayloads {
    private let content: StructuredContent
    private let judged: JudgedRequest
    /// The template's, at hand for every answer of Redis.
    private let table: LanguageTable
    /// There are several languages.
    let asksForLanguages: Bool
    /// By number of the language.
    private var payloads: [PreparedPayload] = []
    /// By position: number of the language.
    private var languages: [Int] = []
    /// By position: values of tokens' own, and numbers that Redis told. Shorter: the others have none.
    private var overrides: [TokenOverrides?] = []
    /// The payload of the portion that is being sent, if it is of the tokens' own.
    private var ownPayload: PreparedPayload?

    /// Makes the payload for each language.
    ///
    /// - Throws: `payload-invalid`: one of them is too long. `priority-invalid`.
    init(_ content: StructuredContent, _ judged: JudgedRequest, into arena: PayloadArena) throws(RecordRefusal) {
        self.content = content
        self.judged = judged
        table = content.template.languages
        asksForLanguages = !table.isEmpty
        for language in content.template.languageNumbers {
            payloads.append(try render(PayloadVariant(language: language), into: arena))
        }
    }

    /// The payload in the default language.
    var defaultPayload: PreparedPayload { payloads[0] }

    /// Bytes of the longest payload so far.
    var mostBytes: Int { payloads.reduce(0) { max($0, $1.bytes) } }

    /// Bytes of all payloads so far.
    var totalBytes: Int { payloads.reduce(0) { $0 + $1.bytes } }

    /// Every notification changes its token's number in Redis.
    var changesBadges: Bool { content.template.badge != nil }

    // MARK: Notifications

    /// Appends a notification.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    func append(_ overrides: TokenOverrides?) {
        if let overrides {
            makeRoom(through: languages.count)
            self.overrides[languages.count] = overrides
        }
        languages.append(overrides.map { table.number(of: $0.locale) } ?? 0)
    }

    private func makeRoom(through position: Int) {
        while overrides.count <= position { overrides.append(nil) }
    }

    private func overrides(of position: Int) -> TokenOverrides? {
        position < overrides.count ? overrides[position] : nil
    }

    /// The language that the device was registered with decides about the payload.
    func wantsLanguage(_ position: Int) -> Bool {
        asksForLanguages && (overrides(of: position)?.locale.isEmpty ?? true)
    }

    /// Chooses the language of a notification.
    ///
    /// - Parameter locale: BCP 47 tag that the device was registered with; nil: not known.
    func foundLanguage(_ locale: UnsafeRawBufferPointer?, of position: Int) {
        guard let locale, wantsLanguage(position) else { return }
        languages[position] = table.number(of: locale)
    }

    /// The change of a token's number that a notification makes, as long as its number is not known; nil: none.
    func badgeChange(of position: Int) -> BadgeChange? { content.badgeChange(overrides: overrides(of: position)) }

    /// Gives a notification the number that its token has in Redis. One that sets the number has its own.
    func foundBadge(_ number: UInt32, of position: Int) {
        guard case .add? = badgeChange(of: position) else { return }
        makeRoom(through: position)
        var own = overrides[position] ?? TokenOverrides()
        own.badge = number
        overrides[position] = own
    }

    /// The maker of a notification's payload whose number is known later than those of its batch; nil: it has none.
    func latePayload(of position: Int) -> LatePayload? {
        badgeChange(of: position).map { change in
            LatePayload(content: content, judged: judged, variant: variant(of: position), change: change)
        }
    }

    private func variant(of position: Int) -> PayloadVariant {
        var own = overrides(of: position) ?? TokenOverrides()
        // It has chosen the language.
        own.locale = ""
        return PayloadVariant(language: languages[position], overrides: own)
    }

    /// The payload of a notification. One of a token's own is there while its portion is sent.
    func payload(of position: Int) -> PreparedPayload { ownPayload ?? payloads[languages[position]] }

    /// Makes the payload of a portion, if it is of the tokens' own. It stays until ``end(_:)``.
    func begin(_ portion: PortionPlan.Portion, into arena: PayloadArena) throws(RecordRefusal) {
        guard portion.isOwn, let first = portion.positions.first else { return }
        ownPayload = try render(variant(of: first), into: arena)
    }

    /// The portion was sent: its payload goes.
    func end(_ portion: PortionPlan.Portion, in arena: PayloadArena) {
        if let ownPayload { arena.truncate(to: ownPayload.offset) }
        ownPayload = nil
    }

    /// Begins to find the order of sending. To be called when languages and numbers are known.
    func plan() -> PortionPlan {
        PortionPlan(languages: languages, shared: payloads.count, hasOwn: !overrides.isEmpty)
    }

    /// Looks at the next tokens of a plan.
    ///
    /// - Parameter most: how many; at least 1.
    /// - Returns: the number of tokens looked at.
    func goOn(_ plan: inout PortionPlan, most: Int) -> Int {
        plan.look(most: most) { position in
            guard overrides(of: position) != nil else { return nil }
            let variant = variant(of: position)
            return variant.overrides == TokenOverrides() ? nil : variant
        }
    }

    private func render(_ variant: PayloadVariant, into arena: PayloadArena) throws(RecordRefusal) -> PreparedPayload {
        let (payload, terms) = try content.payload(language: variant.language, overrides: variant.overrides, by: judged)
        arena.reserve(payload.count).copyBytes(from: payload)
        let offset = arena.commit(payload.count)
        return PreparedPayload(offset: offset, bytes: payload.count, terms: terms)
    }
}
