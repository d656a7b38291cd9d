import PayloadRendering
import PushSchemas
import PushTopics

/// The payloads of one record with a structured notification, in the arena of its batch.
///
/// One for each language is made when the record is taken in. Those of tokens with a badge or arguments of their own
/// are made when the token's language is known, once for all tokens with the same. Notifications have positions here:
/// their place among those of the record that are sent, from 0.
final class RenderedPayloads {
    /// The place of a payload in the arena.
    struct Place {
        var offset: Int
        var bytes: Int
    }

    /// Decides about a payload, beside the notification.
    private struct Variant: Hashable {
        var language: Int
        var overrides: TokenOverrides
    }

    private let template: NotificationTemplate
    private let limitBytes: Int
    /// First those of the languages, by number.
    private var places: [Place] = []
    /// By position: index of the payload, once it is known; before that, number of the language.
    private var choices: [Int] = []
    /// By position: values of tokens' own.
    private var overrides: [Int: TokenOverrides] = [:]

    /// Makes the payload for each language.
    ///
    /// - Throws: `payload-invalid`: one of them is too long.
    init(
        _ template: NotificationTemplate,
        limitBytes: Int,
        into arena: PayloadArena
    ) throws(RecordRefusal) {
        self.template = template
        self.limitBytes = limitBytes
        for language in template.languageNumbers {
            places.append(try render(Variant(language: language, overrides: TokenOverrides()), into: arena))
        }
    }

    /// The place of the payload in the default language.
    var defaultPlace: (offset: Int, bytes: Int) { (places[0].offset, places[0].bytes) }

    /// Bytes of the longest payload so far.
    var mostBytes: Int { places.reduce(0) { max($0, $1.bytes) } }

    /// There are several languages.
    var asksForLanguages: Bool { !template.languages.isEmpty }

    // MARK: Notifications

    /// Appends a notification.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    func append(_ overrides: TokenOverrides?) {
        if let overrides { self.overrides[choices.count] = overrides }
        choices.append(overrides.map { template.languages.number(of: $0.locale) } ?? 0)
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
        choices[position] = template.languages.number(of: locale)
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

    /// The places that notifications have, each with their positions in order.
    var byPlace: [(place: Place, positions: [Int])] {
        var positions = [[Int]](repeating: [], count: places.count)
        for (position, choice) in choices.enumerated() { positions[choice].append(position) }
        return zip(places, positions).filter { !$0.1.isEmpty }.map { ($0, $1) }
    }

    private func render(_ variant: Variant, into arena: PayloadArena) throws(RecordRefusal) -> Place {
        let payload: [UInt8]
        do throws(NotificationFault) {
            payload = try template.payload(
                language: variant.language,
                overrides: variant.overrides,
                limitBytes: limitBytes
            )
        } catch {
            throw RecordRefusal(error)
        }
        arena.reserve(payload.count).copyBytes(from: payload)
        return Place(offset: arena.commit(payload.count), bytes: payload.count)
    }
}
