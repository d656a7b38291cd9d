import PayloadRendering
import PipelineCore
import PushSchemas
import RequestRules

/// The payloads of one record with a structured notification, in the arena of its batch.
///
/// One for each language is made when the record is taken in. Those of tokens with a badge or arguments of their own
/// are made when the token's language is known, once for all tokens with the same. Notifications have positions here:
/// their place among those of the record that are sent, from 0.
final class RenderedPayloads {
    /// A payload in the arena, with what is judged by it.
    struct Place {
        var offset: Int
        var bytes: Int
        var terms: ContentTerms
    }

    /// Decides about a payload, beside the notification.
    private struct Variant: Hashable {
        var language: Int
        var overrides: TokenOverrides
    }

    private let content: StructuredContent
    private let judged: JudgedRequest
    /// Nil over the binary interface.
    private let ids: NotificationIDs?
    /// First those of the languages, by number.
    private var places: [Place] = []
    /// By position: index of the payload, once it is known; before that, number of the language.
    private var choices: [Int] = []
    /// By position: values of tokens' own.
    private var overrides: [Int: TokenOverrides] = [:]

    /// Makes the payload for each language.
    ///
    /// - Throws: `payload-invalid`: one of them is too long. `priority-invalid`.
    init(
        _ content: StructuredContent,
        _ judged: JudgedRequest,
        ids: NotificationIDs?,
        into arena: PayloadArena
    ) throws(RecordRefusal) {
        self.content = content
        self.judged = judged
        self.ids = ids
        for language in content.template.languageNumbers {
            places.append(try render(Variant(language: language, overrides: TokenOverrides()), into: arena))
        }
    }

    /// The payload in the default language.
    var defaultPlace: Place { places[0] }

    /// Bytes of the longest payload so far.
    var mostBytes: Int { places.reduce(0) { max($0, $1.bytes) } }

    /// Bytes of all payloads so far.
    var totalBytes: Int { places.reduce(0) { $0 + $1.bytes } }

    /// There are several languages.
    var asksForLanguages: Bool { !content.template.languages.isEmpty }

    // MARK: Notifications

    /// Appends a notification.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    func append(_ overrides: TokenOverrides?) {
        if let overrides { self.overrides[choices.count] = overrides }
        choices.append(overrides.map { content.template.languages.number(of: $0.locale) } ?? 0)
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
        choices[position] = content.template.languages.number(of: locale)
    }

    /// Makes the payloads for tokens with values of their own. To be called once, when the languages are known.
    ///
    /// - Returns: positions of tokens for which there is none, with the reason, in order.
    func renderOverrides(into arena: PayloadArena) -> [(position: Int, fault: RecordRefusal)] {
        var faults: [(Int, RecordRefusal)] = []
        var made: [Variant: Int] = [:]
        for (position, var own) in overrides.sorted(by: { $0.key < $1.key }) {
            own.locale = ""
            let variant = Variant(language: choices[position], overrides: own)
            guard own != TokenOverrides() else { continue }
            if let index = made[variant] {
                choices[position] = index
                continue
            }
            do throws(RecordRefusal) {
                places.append(try render(variant, into: arena))
                made[variant] = places.count - 1
                choices[position] = places.count - 1
            } catch {
                faults.append((position, error))
            }
        }
        overrides = [:]
        return faults
    }

    /// The place of a notification's payload.
    func place(of position: Int) -> Place { places[choices[position]] }

    /// The order of sending, in portions with one payload, because each is encoded once. A token that stands in the
    /// record several times has each of its notifications in a later round than the one before, so that its order is
    /// kept.
    ///
    /// - Parameter checksums: by position, CRC-32 of the token; equal ones count as the same token.
    /// - Returns: the positions of each portion.
    func portions(checksums: some RandomAccessCollection<UInt32>) -> [[Int]] {
        var rounds: [[Int]] = [[]]
        if places.count > 1 {
            var seen: [UInt32: Int] = Dictionary(minimumCapacity: choices.count)
            for (position, checksum) in checksums.enumerated() {
                let round = seen[checksum, default: 0]
                seen[checksum] = round + 1
                if round == rounds.count { rounds.append([]) }
                rounds[round].append(position)
            }
        } else {
            rounds[0] = Array(choices.indices)
        }
        return rounds.flatMap(portions(of:))
    }

    /// Positions by payload.
    private func portions(of positions: [Int]) -> [[Int]] {
        var indices: [Int: Int] = [:]
        var portions: [[Int]] = []
        for position in positions {
            let choice = choices[position]
            if let index = indices[choice] {
                portions[index].append(position)
            } else {
                indices[choice] = portions.count
                portions.append([position])
            }
        }
        return portions
    }

    private func render(_ variant: Variant, into arena: PayloadArena) throws(RecordRefusal) -> Place {
        let (payload, terms) = try content.payload(
            language: variant.language,
            overrides: variant.overrides,
            judged.terms,
            limitBytes: judged.limitBytes
        )
        arena.reserve(payload.count).copyBytes(from: payload)
        let offset = arena.commit(payload.count)
        return Place(offset: offset, bytes: payload.count, terms: ContentTerms(terms, ids: ids))
    }
}
