import APNsProtocol
import PipelineCore
import RequestRules

/// Priority and push type of one payload, as its notifications carry them.
struct ContentTerms {
    /// Of the binary interface.
    var priority: NotificationPriority
    /// Nil: the environment has the binary interface.
    var provider: ProviderFields?
}

extension ContentTerms {
    /// - Parameter ids: of the record's notifications; nil over the binary interface.
    init(_ terms: PayloadTerms, ids: NotificationIDs?) {
        priority = terms.priority
        guard let provider = terms.provider, let ids else { return }
        self.provider = ProviderFields(provider, ids: ids)
    }
}
