import PayloadRendering
import PushSchemas
import RequestRules

/// Decides about a payload, beside the structured notification.
struct PayloadVariant: Hashable {
    /// Of the template's numbers.
    var language: Int
    var overrides = TokenOverrides()
}

/// The payload of one notification that is made when the number on its token's icon is known.
struct LatePayload {
    let content: StructuredContent
    let judged: JudgedRequest
    let variant: PayloadVariant
    let change: BadgeChange

    /// Nil: it stays as it is, because the notification says the number itself.
    ///
    /// - Throws: `payload-invalid`: it is too long. `priority-invalid`.
    func make(number: UInt32) throws(RecordRefusal) -> (bytes: [UInt8], terms: DeliveryTerms)? {
        guard case .add = change else { return nil }
        var overrides = variant.overrides
        overrides.badge = number
        return try content.payload(language: variant.language, overrides: overrides, by: judged)
    }
}
