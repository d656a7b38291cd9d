import APNsProtocol
import SeededNumbers

/// The channels of one app: their subscribers, and what was broadcast over them. Pure.
///
/// Devices subscribe through the control port: on a real device that is between the app and its system. A channel that
/// stores messages keeps the most recent one for subscribers that are offline [later].
struct ChannelList: Sendable {
    /// The fates of broadcasts, counted since the start. A broadcast has a fate for each subscriber.
    struct Counters: Sendable, Equatable {
        /// Taken by the provider API.
        var accepted = 0
        /// Reached a device.
        var delivered = 0
        /// Wait for a device now.
        var stored = 0
        /// Reached no device: it was offline and nothing is stored, a newer one took the place, it was out of date, or
        /// the app is gone or subscribes no more.
        var missed = 0
    }

    /// A subscriber's share of a broadcast.
    enum Share {
        /// The device is there.
        case takes
        /// The device is offline.
        case waits
        /// The app is gone.
        case misses
    }

    /// By id.
    private var channels: [String: PushChannel] = [:]
    /// Channels whose message waits for devices.
    private var awaited: Set<String> = []
    private(set) var counters = Counters()
    /// Subscriptions to all channels.
    private(set) var subscribers = 0

    var count: Int { channels.count }
    /// In no order that means something, but always in the same.
    var ids: [String] { channels.keys.sorted() }

    subscript(id: String) -> PushChannel? { channels[id] }

    /// Makes a channel under a random id.
    ///
    /// - Returns: its id; nil: the app has as many as it may have.
    mutating func create(storesMessages: Bool, random: inout SeededGenerator) -> String? {
        guard channels.count < SandboxLimits.channels else { return nil }
        var id: String
        repeat { id = ChannelID.text(high: random.next(), low: random.next()) } while channels[id] != nil
        channels[id] = PushChannel(storesMessages: storesMessages)
        return id
    }

    /// - Returns: there was such a channel.
    mutating func delete(_ id: String) -> Bool {
        guard let channel = channels.removeValue(forKey: id) else { return false }
        awaited.remove(id)
        subscribers -= channel.subscriberCount
        giveUp(channel.waitingCount)
        return true
    }

    /// Devices subscribe to a channel, or do so no more.
    ///
    /// - Returns: false: there is no such channel, or it would have more than ``SandboxLimits/channelSubscribers``;
    ///   nothing has changed then.
    mutating func setSubscribed(_ isSubscribed: Bool, _ devices: Range<UInt32>, to id: String) -> Bool {
        guard let before = channels[id] else { return false }
        var channel = before
        channel.setSubscribed(isSubscribed, devices)
        guard channel.subscriberCount <= SandboxLimits.channelSubscribers else { return false }
        channels[id] = channel
        noteWaiting(id)
        subscribers += channel.subscriberCount - before.subscriberCount
        giveUp(before.waitingCount - channel.waitingCount)
        return true
    }

    /// Takes a broadcast and shares it out.
    ///
    /// - Parameters:
    ///   - mark: see ``PayloadMark``.
    ///   - share: of a subscriber, by its number.
    /// - Returns: the broadcast's name, and the devices that it reaches now; nil: there is no such channel.
    mutating func broadcast(
        _ message: BroadcastMessage,
        mark: UInt32,
        to id: String,
        now: UInt32,
        share: (UInt32) -> Share
    ) -> (name: BroadcastName, reached: [UInt32])? {
        guard var channel = channels[id] else { return nil }
        let isDue = message.expiration == 0 || message.expiration > now
        let isKept = channel.storesMessages && message.expiration > now
        var reached: [UInt32] = []
        var waiting = RangeSet<UInt32>()
        for range in channel.subscribers.ranges {
            for device in range {
                switch share(device) {
                case .takes: if isDue { reached.append(device) }
                case .waits: if isKept { waiting.insert(contentsOf: device..<device + 1) }
                case .misses: break
                }
            }
        }
        channel.noteAcceptance(mark: mark)
        counters.accepted += 1
        counters.delivered += reached.count
        counters.missed += channel.subscriberCount - reached.count
        // One that is not to be kept leaves the one that is, as it is with notifications [ours].
        if isKept {
            giveUp(channel.waitingCount)
            channel.store(message, for: waiting, now: now)
            giveUp(-channel.waitingCount)
        }
        channels[id] = channel
        noteWaiting(id)
        return (BroadcastName(channel: id, number: channel.accepted), reached)
    }

    /// Hands a device that is back what waits for it, in the order of the channels' ids.
    mutating func takeStored(for device: UInt32, now: UInt32) -> [(name: BroadcastName, message: BroadcastMessage)] {
        var taken: [(name: BroadcastName, message: BroadcastMessage)] = []
        for id in awaited.sorted() {
            guard let stored = takeMessage(of: id, for: device) else { continue }
            guard stored.until > now else { continue }
            counters.missed -= 1
            counters.delivered += 1
            taken.append((BroadcastName(channel: id, number: stored.number), stored.message))
        }
        return taken
    }

    /// Drops what waits for a device whose app is gone.
    mutating func dropStored(for device: UInt32) {
        for id in awaited { _ = takeMessage(of: id, for: device) }
    }

    /// Notes that a device did not take a broadcast that was counted as delivered.
    ///
    /// - Parameter isOffline: it waits for the device, if it is the one that its channel keeps.
    mutating func takeBack(_ name: BroadcastName, from device: UInt32, isOffline: Bool) {
        counters.delivered -= 1
        counters.missed += 1
        guard isOffline, channels[name.channel]?.takeBack(name.number, from: device) == true else { return }
        giveUp(-1)
        noteWaiting(name.channel)
    }

    /// Takes what waits for a device out of a channel. It counts as missed.
    private mutating func takeMessage(of id: String, for device: UInt32) -> PushChannel.Stored? {
        // In its place: a copy of a channel with many subscribers is large.
        guard let stored = channels[id]?.takeStored(for: device) else { return nil }
        giveUp(1)
        noteWaiting(id)
        return stored
    }

    private mutating func giveUp(_ count: Int) {
        counters.stored -= count
        counters.missed += count
    }

    private mutating func noteWaiting(_ id: String) {
        if channels[id].map({ $0.waitingCount > 0 }) ?? false { awaited.insert(id) } else { awaited.remove(id) }
    }
}
