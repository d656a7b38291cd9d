/// Memory is slow and the devices of consecutive notifications are strangers to each other: what is known of them is
/// fetched for many at the same time, rather than waited for with each.
extension TopicLedger {
    /// Has what is known of these devices fetched from memory, because their notifications come next. Changes nothing.
    mutating func anticipate(_ instances: UnsafeBufferPointer<AppInstance?>) {
        var fetched: UInt64 = 0
        for case let instance? in instances {
            fetched &+= population.fetch(instance.device) &+ store.fetchPlace(instance.device)
        }
        guard !store.isEmpty else {
            self.fetched = fetched
            return
        }
        // Needs the places, so it comes after all of them.
        for case let instance? in instances {
            fetched &+= store.fetchRecord(instance.device)
        }
        self.fetched = fetched
    }
}
