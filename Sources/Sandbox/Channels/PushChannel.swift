import APNsProtocol

/// A broadcast as it is kept, and goes to devices.
struct BroadcastMessage: Sendable, Equatable {
    let payload: [UInt8]
    /// UNIX seconds; 0: not to be stored. `UInt32.max`: for as long as the service stores.
    let expiration: UInt32
    let priority: ProviderPriority
}

/// Names one broadcast of an app.
struct BroadcastName: Sendable, Equatable {
    /// The channel's id.
    let channel: String
    /// Counts the channel's broadcasts, from 1.
    let number: Int
}

/// One channel of an app: its subscribers, and the message that waits for those that are offline. Pure.
struct PushChannel: Sendable {
    /// The message that a channel keeps.
    struct Stored: Sendable, Equatable {
        let message: BroadcastMessage
        /// See ``BroadcastName/number``.
        let number: Int
        /// From when on it is out of date, UNIX seconds.
        let until: UInt32
    }

    /// The storage policy: the most recent message is kept for devices that are offline; else none is.
    let storesMessages: Bool
    /// Numbers of devices.
    private(set) var subscribers = RangeSet<UInt32>()
    private(set) var subscriberCount = 0
    /// Broadcasts that were accepted.
    private(set) var accepted = 0
    /// Their marks, see ``PayloadMark``: the last ones, in order.
    private(set) var marks: [UInt32] = []
    /// The most recent message that was to be stored; nil: none was.
    private var stored: Stored?
    /// Subscribers that it waits for.
    private var waiting = RangeSet<UInt32>()
    private(set) var waitingCount = 0

    init(storesMessages: Bool) {
        self.storesMessages = storesMessages
    }

    mutating func setSubscribed(_ isSubscribed: Bool, _ devices: Range<UInt32>) {
        if isSubscribed {
            subscribers.insert(contentsOf: devices)
        } else {
            subscribers.remove(contentsOf: devices)
            waiting.remove(contentsOf: devices)
            waitingCount = Self.count(waiting)
        }
        subscriberCount = Self.count(subscribers)
    }

    /// Writes a broadcast into the books.
    mutating func noteAcceptance(mark: UInt32) {
        accepted += 1
        if marks.count == SandboxLimits.channelMarks { marks.removeFirst() }
        marks.append(mark)
    }

    /// Keeps the broadcast accepted last, in the place of the one before.
    mutating func store(_ message: BroadcastMessage, for devices: RangeSet<UInt32>, now: UInt32) {
        let (limit, overflow) = now.addingReportingOverflow(SandboxLimits.storageSeconds)
        let until = min(message.expiration, overflow ? .max : limit)
        stored = Stored(message: message, number: accepted, until: until)
        waiting = devices
        waitingCount = Self.count(devices)
    }

    /// Hands out what waits for a device; nil: nothing does.
    mutating func takeStored(for device: UInt32) -> Stored? {
        guard waiting.contains(device) else { return nil }
        waiting.remove(contentsOf: device..<device + 1)
        waitingCount -= 1
        return stored
    }

    /// Lets a message wait that a device was to have.
    ///
    /// - Returns: false: a newer one is kept, or none, or the device subscribes no more.
    mutating func takeBack(_ number: Int, from device: UInt32) -> Bool {
        guard stored?.number == number, subscribers.contains(device), !waiting.contains(device) else { return false }
        waiting.insert(contentsOf: device..<device + 1)
        waitingCount += 1
        return true
    }

    private static func count(_ devices: RangeSet<UInt32>) -> Int {
        devices.ranges.reduce(0) { $0 + $1.count }
    }
}
