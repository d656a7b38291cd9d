/// The devices that have a notification waiting for the next power-saving time, first come, first served. A device is
/// in it once at most; one whose notification is gone in the meantime stays until it is its turn.
struct HeldDevices: Sendable {
    private let devices: Int
    private var queue: [UInt32] = []
    private var first = 0
    /// A bit per device. Empty until the first one is there.
    private var isQueued: [UInt64] = []

    init(devices: Int) {
        self.devices = devices
    }

    /// Number of devices in the queue.
    var count: Int { queue.count - first }

    /// - Parameter device: one of the devices; traps otherwise.
    mutating func append(_ device: UInt32) {
        if isQueued.isEmpty { isQueued = [UInt64](repeating: 0, count: (devices + 63) / 64) }
        let (word, bit) = (Int(device / 64), UInt64(1) << UInt64(device % 64))
        guard isQueued[word] & bit == 0 else { return }
        isQueued[word] |= bit
        queue.append(device)
    }

    mutating func popFirst() -> UInt32? {
        guard first < queue.count else { return nil }
        let device = queue[first]
        first += 1
        isQueued[Int(device / 64)] &= ~(UInt64(1) << UInt64(device % 64))
        // The freed half is given back, so that the queue stays within twice what is in it.
        if first * 2 > queue.count {
            queue.removeFirst(first)
            first = 0
        }
        return device
    }
}
