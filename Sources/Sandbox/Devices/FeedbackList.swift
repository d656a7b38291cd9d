/// The feedback about one topic: app instances found missing, and their times.
///
/// An instance stands in the list once, with the time it was **last** found missing: the provider compares that with
/// its last registration, and an app that came back and went again is missing again.
struct FeedbackList: Sendable {
    /// One tuple to be.
    struct Entry: Equatable, Sendable {
        let instance: AppInstance
        /// UNIX seconds.
        let timestamp: UInt32
    }

    /// In the order in which instances were first found missing.
    private var entries: [Entry] = []

    /// The position in ``entries`` of each device, plus one; 0 if it is not listed. Empty until the first one is.
    private var positions: [UInt32] = []

    private let devices: Int

    init(devices: Int) {
        self.devices = devices
    }

    var count: Int { entries.count }

    /// Lists an instance of one of the devices, or renews its time.
    mutating func add(_ instance: AppInstance, timestamp: UInt32) {
        if positions.isEmpty { positions = [UInt32](repeating: 0, count: devices) }
        let device = Int(instance.device)
        let entry = Entry(instance: instance, timestamp: timestamp)
        if positions[device] > 0 {
            entries[Int(positions[device]) - 1] = entry
        } else {
            entries.append(entry)
            positions[device] = UInt32(entries.count)
        }
    }

    /// Empties the list and hands out what was in it: it is cleared by reading [13].
    mutating func takeEntries() -> [Entry] {
        let taken = entries
        entries = []
        for entry in taken {
            positions[Int(entry.instance.device)] = 0
        }
        return taken
    }
}
