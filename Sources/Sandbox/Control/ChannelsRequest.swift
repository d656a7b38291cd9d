import Foundation

/// `POST /subscriptions`: devices subscribe to a channel, or do so no more:
/// `{"topic":"A","channel":"dHN0…","first":0,"count":100}`, with `"subscribed":false` to end it.
struct SubscriptionsRequest: Equatable {
    let topic: String
    let channel: String
    let devices: Range<Int>
    let isSubscribed: Bool

    init(body: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: body)
        topic = try fields.requiredString("topic")
        channel = try fields.requiredString("channel")
        let limits = SandboxLimits.devices
        let first = try fields.requiredInteger("first", in: 0...limits.upperBound - 1)
        devices = first..<first + (try fields.requiredInteger("count", in: limits))
        isSubscribed = fields.has("subscribed") ? try fields.flag("subscribed") : true
        try fields.finish()
    }
}

extension ControlAPI {
    /// `GET /channels?topic=A`: an element for each channel.
    private struct ChannelDocument: Encodable {
        let channel: String
        /// 0: no message is stored; 1: the most recent one.
        let storagePolicy: Int
        let subscribers: Int
        /// Of these: the message that is stored waits for them.
        let waiting: Int
        /// Broadcasts taken.
        let accepted: Int
        /// The values of `n` in the payloads of the last ones, in order; see ``PayloadMark``.
        let marks: [UInt32]
    }

    /// - Returns: the number of devices that subscribe to the channel now.
    func subscribe(_ request: SubscriptionsRequest) throws(ControlError) -> Int {
        let topic = try topic(request.topic)
        try check(request.devices, of: topic)
        let devices = UInt32(request.devices.lowerBound)..<UInt32(request.devices.upperBound)
        let (isKnown, subscribers) = topic.withLedger { ledger -> (Bool, Int?) in
            guard ledger.channels[request.channel] != nil else { return (false, nil) }
            let isDone = ledger.channels.setSubscribed(request.isSubscribed, devices, to: request.channel)
            return (true, isDone ? ledger.channels[request.channel]?.subscriberCount : nil)
        }
        guard isKnown else {
            throw ControlError(field: "channel", error: "is not a channel of \(topic.name)")
        }
        guard let subscribers else {
            let limit = SandboxLimits.channelSubscribers
            throw ControlError(field: "count", error: "gives the channel more than \(limit) devices")
        }
        return subscribers
    }

    /// - Parameter query: `topic=A`.
    func channels(query: String) throws(ControlError) -> Response {
        guard query.hasPrefix("topic="), !query.contains("&"),
            let name = query.dropFirst("topic=".count).removingPercentEncoding
        else { throw ControlError(field: "topic", error: "is missing, or not alone") }
        let topic = try topic(name)
        let channels = topic.withLedger { ledger in
            ledger.channels.ids.compactMap { id in
                ledger.channels[id].map { channel in
                    ChannelDocument(
                        channel: id,
                        storagePolicy: channel.storesMessages ? 1 : 0,
                        subscribers: channel.subscriberCount,
                        waiting: channel.waitingCount,
                        accepted: channel.accepted,
                        marks: channel.marks
                    )
                }
            }
        }
        return json(channels)
    }
}
