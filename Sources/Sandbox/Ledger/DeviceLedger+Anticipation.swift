/// Memory is slow and the devices of consecutive notifications are strangers to each other: what is known of them is
/// fetched for many at the same time, rather than waited for with each.
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
