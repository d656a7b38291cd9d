import PipelineCore
import Synchronization

/// The addresses that were tried in vain lately, for all connections of a process. Any thread may use it.
package final class AddressMemory: Sendable {
    package static let process = AddressMemory()

    let order = Mutex(AddressOrder<ServiceAddresses.Place>())
    /// Of the names that proxies were asked for.
    let proxied = Mutex(AddressOrder<HostPort>())

    package init() {}
}
