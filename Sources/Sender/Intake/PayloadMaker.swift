import PayloadRendering
import PipelineCore
import PushSchemas
import RequestRules

/// Decides about a payload, beside the structured notification.
struct PayloadVariant: Hashable {
    /// Of the template's numbers.
    var language: Int
    var overrides = TokenOverrides()
}

/// Makes the payloads of one record with a structured notification.
struct PayloadMaker {
    let content: StructuredContent
    let judged: JudgedRequest
    /// Nil over the binary interface.
    let ids: NotificationIDs?

    /// - Throws: `payload-invalid`: it is too long. `priority-invalid`.
    func make(_ variant: PayloadVariant) throws(RecordRefusal) -> (bytes: [UInt8], terms: ContentTerms) {
        let (bytes, terms) = try content.payload(
            language: variant.language,
            overrides: variant.overrides,
            judged.terms,
            limitBytes: judged.limitBytes
        )
        return (bytes, ContentTerms(terms, ids: ids))
    }
}

/// The payload of one notification that is made when the number on its token's icon is known.
struct LatePayload {
    let change: BadgeChange
    private let maker: PayloadMaker
    private let variant: PayloadVariant

    init(_ maker: PayloadMaker, _ variant: PayloadVariant, _ change: BadgeChange) {
        self.maker = maker
        self.variant = variant
        self.change = change
    }

    /// Nil: it stays as it is, because the notification says the number itself.
    ///
    /// - Throws: as ``PayloadMaker/make(_:)``.
    func make(number: UInt32) throws(RecordRefusal) -> (bytes: [UInt8], terms: ContentTerms)? {
        guard case .add = change else { return nil }
        var variant = variant
        variant.overrides.badge = number
        return try maker.make(variant)
    }
}
