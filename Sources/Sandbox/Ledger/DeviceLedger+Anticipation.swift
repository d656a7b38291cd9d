/// Fetches the states of many devices from memory at the same time. Memory is slow, and the devices of consecutive
/// notifications lie far apart in it: the ledger would wait for each of them.
extension DeviceLedger {
    /// Has what is known of these devices fetched from memory, because their notifications come next. Changes nothing.
    func anticipate(_ instances: UnsafeBufferPointer<AppInstance?>) {
        for case let instance? in instances {
            population.prefetch(instance.device)
            store.prefetchPlace(instance.device)
        }
        guard !store.isEmpty else { return }
        // Needs the places, so it comes after all of them.
        for case let instance? in instances { store.prefetchRecord(instance.device) }
    }
}
