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
    /// A payload in the arena, with what is judged by it.
    struct Place {
        var offset: Int
        var bytes: Int
        var terms: ContentTerms
    }

    /// Notifications with one payload, which is encoded once.
    struct Portion: Equatable {
        /// In ascending order.
        var positions: ArraySlice<Int>
        /// The payload is of the tokens' own: ``RenderedPayloads/begin(_:into:)`` makes it.
        fileprivate(set) var variant: PayloadVariant?
    }

    private let maker: PayloadMaker
    /// The template's, at hand for every answer of Redis.
    private let table: LanguageTable
    /// There are several languages.
    let asksForLanguages: Bool
    /// By number of the language.
    private var places: [Place] = []
    /// By position: number of the language.
    private var languages: [Int] = []
    /// By position: values of tokens' own, and numbers that Redis told.
    private var overrides: [Int: TokenOverrides] = [:]
    /// The payload of the portion that is being sent, if it is of the tokens' own.
    private var ownPlace: Place?

    /// Makes the payload for each language.
    ///
    /// - Throws: `payload-invalid`: one of them is too long. `priority-invalid`.
    init(
        _ content: StructuredContent,
        _ judged: JudgedRequest,
        ids: NotificationIDs?,
        into arena: PayloadArena
    ) throws(RecordRefusal) {
        maker = PayloadMaker(content: content, judged: judged, ids: ids)
        table = content.template.languages
        asksForLanguages = !table.isEmpty
        for language in content.template.languageNumbers {
            places.append(try render(PayloadVariant(language: language), into: arena))
        }
    }

    /// The payload in the default language.
    var defaultPlace: Place { places[0] }

    /// Bytes of the longest payload so far.
    var mostBytes: Int { places.reduce(0) { max($0, $1.bytes) } }

    /// Bytes of all payloads so far.
    var totalBytes: Int { places.reduce(0) { $0 + $1.bytes } }

    /// Every notification changes its token's number in Redis.
    var changesBadges: Bool { maker.content.template.badge != nil }

    // MARK: Notifications

    /// Appends a notification.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    func append(_ overrides: TokenOverrides?) {
        if let overrides { self.overrides[languages.count] = overrides }
        languages.append(overrides.map { table.number(of: $0.locale) } ?? 0)
    }

    /// The language that the device was registered with decides about the payload.
    func wantsLanguage(_ position: Int) -> Bool {
        asksForLanguages && (overrides.isEmpty || overrides[position]?.locale.isEmpty ?? true)
    }

    /// Chooses the language of a notification.
    ///
    /// - Parameter locale: BCP 47 tag that the device was registered with; nil: not known.
    func foundLanguage(_ locale: UnsafeRawBufferPointer?, of position: Int) {
        guard let locale, wantsLanguage(position) else { return }
        languages[position] = table.number(of: locale)
    }

    /// The change of a token's number that a notification makes, as long as its number is not known; nil: none.
    func badgeChange(of position: Int) -> BadgeChange? { maker.content.badgeChange(overrides: overrides[position]) }

    /// Gives a notification the number that its token has in Redis. One that sets the number has its own.
    func foundBadge(_ number: UInt32, of position: Int) {
        guard case .add? = badgeChange(of: position) else { return }
        overrides[position, default: TokenOverrides()].badge = number
    }

    /// The maker of a notification's payload whose number is known later than those of its batch; nil: it has none.
    func latePayload(of position: Int) -> LatePayload? {
        badgeChange(of: position).map { LatePayload(maker, variant(of: position), $0) }
    }

    private func variant(of position: Int) -> PayloadVariant {
        var own = overrides[position] ?? TokenOverrides()
        // It has chosen the language.
        own.locale = ""
        return PayloadVariant(language: languages[position], overrides: own)
    }

    /// The place of a notification's payload. One of a token's own is there while its portion is sent.
    func place(of position: Int) -> Place { ownPlace ?? places[languages[position]] }

    /// Makes the payload of a portion, if it is of the tokens' own. It stays until ``end(_:)``.
    func begin(_ portion: Portion, into arena: PayloadArena) throws(RecordRefusal) {
        if let variant = portion.variant { ownPlace = try render(variant, into: arena) }
    }

    /// The portion was sent: its payload goes.
    func end(_ portion: Portion, in arena: PayloadArena) {
        if let ownPlace { arena.truncate(to: ownPlace.offset) }
        ownPlace = nil
    }

    /// The order of sending. A token that stands in the record several times has each of its notifications in a later
    /// round than the one before, so that its order is kept. To be called when languages and numbers are known.
    ///
    /// - Parameter checksums: by position, CRC-32 of the token; equal ones count as the same token.
    func portions(checksums: ArraySlice<UInt32>) -> [Portion] {
        var order = Array(languages.indices)
        let (choices, variants) = choices()
        guard places.count + variants.count > 1, !order.isEmpty else { return Self.cut(order[...], nil) }
        order = Self.sorted(order, by: choices, below: places.count + variants.count)
        let rounds = TokenRounds(checksums: checksums)
        if rounds.count > 1 { order = Self.sorted(order, by: rounds.numbers, below: rounds.count) }
        var portions: [Portion] = []
        var start = 0
        for end in 1...order.count {
            if end < order.count {
                let (last, next) = (order[end - 1], order[end])
                if choices[next] == choices[last], rounds[next] == rounds[last] { continue }
            }
            let own = choices[order[start]] - places.count
            portions += Self.cut(order[start..<end], own < 0 ? nil : variants[own])
            start = end
        }
        return portions
    }

    /// By position, the number of the payload: of its language, or behind those of its token's own values.
    private func choices() -> (byPosition: [Int], variants: [PayloadVariant]) {
        guard !overrides.isEmpty else { return (languages, []) }
        var choices = languages
        var variants: [PayloadVariant] = []
        var numbers: [PayloadVariant: Int] = [:]
        for position in languages.indices where overrides[position] != nil {
            let variant = variant(of: position)
            guard variant.overrides != TokenOverrides() else { continue }
            let number = numbers[variant] ?? variants.count
            if number == variants.count {
                numbers[variant] = number
                variants.append(variant)
            }
            choices[position] = places.count + number
        }
        return (choices, variants)
    }

    /// Portions of no more than are routed at once.
    private static func cut(_ positions: ArraySlice<Int>, _ variant: PayloadVariant?) -> [Portion] {
        stride(from: positions.startIndex, to: positions.endIndex, by: ShardLimits.routedAtOnce).map { start in
            let end = min(start + ShardLimits.routedAtOnce, positions.endIndex)
            return Portion(positions: positions[start..<end], variant: variant)
        }
    }

    /// Sorts positions by a number of each, and leaves those with the same in their order.
    ///
    /// - Parameters:
    ///   - numbers: by position.
    ///   - limit: above every number.
    private static func sorted(_ positions: [Int], by numbers: [Int], below limit: Int) -> [Int] {
        var ends = [Int](repeating: 0, count: limit)
        for number in numbers { ends[number] += 1 }
        for number in 1..<limit { ends[number] += ends[number - 1] }
        var sorted = [Int](repeating: 0, count: positions.count)
        for position in positions.reversed() {
            ends[numbers[position]] -= 1
            sorted[ends[numbers[position]]] = position
        }
        return sorted
    }

    private func render(_ variant: PayloadVariant, into arena: PayloadArena) throws(RecordRefusal) -> Place {
        let (payload, terms) = try maker.make(variant)
        arena.reserve(payload.count).copyBytes(from: payload)
        let offset = arena.commit(payload.count)
        return Place(offset: offset, bytes: payload.count, terms: terms)
    }
}
