import APNsProtocol
import PipelineCore
import PushTopics

/// Priority and push type of one payload. Payloads of one record may differ in them: some have an alert, some only
/// wake the app.
struct ContentTerms {
    /// Of the binary interface.
    var priority: NotificationPriority
    /// Nil: the environment has the binary interface.
    var provider: ProviderFields?
}

/// Judges the terms of each payload of a record.
struct TermsRule {
    /// The part of a request that only the provider API takes; nil over the binary interface.
    let provider: UnjudgedProviderFields?

    /// - Parameters:
    ///   - priority: of the request, fitted to the payload; nil: not said.
    ///   - payload: stripped and checked.
    /// - Throws: `priority-invalid`.
    func terms(priority: UInt8?, of payload: UnsafeRawBufferPointer) throws(RecordRefusal) -> ContentTerms {
        guard let provider else {
            return ContentTerms(priority: try NotificationPriority(ofRequest: priority), provider: nil)
        }
        let fields = try ProviderFields(provider, priority: priority, payload: payload)
        return ContentTerms(priority: .immediate, provider: fields)
    }
}
