/// The last things that happened to a topic's devices, for people who watch: a ring that forgets the oldest.
///
/// It costs a comparison per event while nobody watches.
struct ActivityTrace: Sendable {
    /// What happened to a device's app.
    enum Kind: UInt8, Sendable, CaseIterable {
        case delivered = 0
        case stored = 1
        case feedback = 2
        case refused = 3
    }

    /// Whether events are kept.
    var isWatched = false

    /// Notes an event.
    @inline(__always)
    mutating func note(_ kind: Kind, device: UInt32) {
        guard isWatched else { return }
        keep(kind, device)
    }

    private mutating func keep(_ kind: Kind, _ device: UInt32) {
    }
}
