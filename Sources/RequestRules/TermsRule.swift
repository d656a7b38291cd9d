import APNsProtocol
import PushSchemas

/// Priority and push type of one payload. Payloads of one record may differ in them: some have an alert, some only
/// wake the app.
package struct PayloadTerms: Sendable {
    /// Of the binary interface.
    package var priority: NotificationPriority
    /// Nil: the environment has the binary interface.
    package var provider: ProviderTerms?
}

/// Judges the terms of each payload of a record.
package struct TermsRule: Sendable {
    /// The part of a request that only the provider API takes; nil over the binary interface.
    let provider: UnjudgedProviderFields?

    /// - Parameters:
    ///   - priority: of the request, fitted to the payload; nil: not said.
    ///   - payload: stripped and checked.
    /// - Throws: `priority-invalid`.
    package func terms(priority: UInt8?, of payload: UnsafeRawBufferPointer) throws(RecordRefusal) -> PayloadTerms {
        guard provider != nil else {
            // As for an inferred push type over HTTP/2: otherwise each token would cost two connections. [ours]
            let priority = try NotificationPriority(ofRequest: priority).allowed(for: payload)
            return PayloadTerms(priority: priority, provider: nil)
        }
        return try terms(priority: priority, inferred: PushType(inferredFrom: payload))
    }

    /// The same for a payload that need not be read again.
    ///
    /// - Parameter inferred: the push type that would be read of it.
    func terms(
        priority: UInt8?,
        inferred: @autoclosure () -> PushType
    ) throws(RecordRefusal) -> PayloadTerms {
        guard let provider else {
            let priority = try NotificationPriority(ofRequest: priority)
            return PayloadTerms(priority: inferred() == .background ? .powerSaving : priority, provider: nil)
        }
        let fields = try ProviderTerms(provider, priority: priority, inferred: inferred())
        return PayloadTerms(priority: .immediate, provider: fields)
    }
}
