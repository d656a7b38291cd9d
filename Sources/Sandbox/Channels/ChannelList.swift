import APNsProtocol

/// The channels of one app: their subscribers, and what was broadcast over them. Pure.
///
/// Devices subscribe through the control port: on a real device that is between the app and its system.
struct ChannelList: Sendable {
    /// One channel.
    struct Channel: Sendable {
        /// The provider wished that the last message is kept for devices that are offline; here none is.
        let storesMessages: Bool
        /// Numbers of devices.
        fileprivate(set) var subscribers = RangeSet<UInt32>()
        /// Broadcasts that were accepted.
        private(set) var accepted = 0
        /// Their marks, see ``PayloadMark``: the last ones, in order.
        private(set) var marks: [UInt32] = []

        var subscriberCount: Int { subscribers.ranges.reduce(0) { $0 + $1.count } }

        fileprivate mutating func noteAcceptance(mark: UInt32) {
            accepted += 1
            if marks.count == SandboxLimits.channelMarks { marks.removeFirst() }
            marks.append(mark)
        }
    }

    /// The fates of broadcasts, counted since the start.
    struct Counters: Sendable, Equatable {
        /// Taken by the provider API.
        var accepted = 0
        /// Reached a device; one broadcast reaches many.
        var delivered = 0
        /// Found a subscribed device offline, or without the app, or were out of date.
        var missed = 0
    }

    /// By id.
    private var channels: [String: Channel] = [:]
    private(set) var counters = Counters()

    var count: Int { channels.count }
    /// In no order that means something, but always in the same.
    var ids: [String] { channels.keys.sorted() }

    subscript(id: String) -> Channel? { channels[id] }

    /// Makes a channel under a random id.
    ///
    /// - Returns: its id; nil: the app has as many as it may have.
    mutating func create(storesMessages: Bool, random: inout SplitMix64) -> String? {
        guard channels.count < SandboxLimits.channels else { return nil }
        var id: String
        repeat { id = ChannelID.text(high: random.next(), low: random.next()) } while channels[id] != nil
        channels[id] = Channel(storesMessages: storesMessages)
        return id
    }

    /// - Returns: there was such a channel.
    mutating func delete(_ id: String) -> Bool { channels.removeValue(forKey: id) != nil }

    /// Devices subscribe to a channel, or do so no more.
    ///
    /// - Returns: false: there is no such channel, or it would have more than ``SandboxLimits/channelSubscribers``;
    ///   nothing has changed then.
    mutating func setSubscribed(_ isSubscribed: Bool, _ devices: Range<UInt32>, to id: String) -> Bool {
        guard var channel = channels[id] else { return false }
        if isSubscribed {
            channel.subscribers.insert(contentsOf: devices)
        } else {
            channel.subscribers.remove(contentsOf: devices)
        }
        guard channel.subscriberCount <= SandboxLimits.channelSubscribers else { return false }
        channels[id] = channel
        return true
    }

    /// Writes a broadcast into the books.
    mutating func noteAcceptance(_ id: String, mark: UInt32) {
        counters.accepted += 1
        channels[id]?.noteAcceptance(mark: mark)
    }

    mutating func noteDelivery(delivered: Int, missed: Int) {
        counters.delivered += delivered
        counters.missed += missed
    }

    /// A device did not take a broadcast that was counted as delivered.
    mutating func takeBack() { noteDelivery(delivered: -1, missed: 1) }
}
