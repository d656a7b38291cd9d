/// The requests and the end of a device client, over all of its connections.
///
/// Pure: events and the time go in, requests and reports come out.
struct DeviceClientSession: Sendable {
    /// The client's next step: requests, reports, and maybe the end.
    struct Output: Equatable, Sendable {
        var requests: [CourierRequest] = []
        var reports: [DeviceReport] = []
        /// The end of all.
        var end: End?
    }

    /// The outcome of the client's work.
    enum End: Error, Equatable, Sendable {
        case done
        /// The service does not want this device, token or topic: connecting again does not help.
        case refused(String)
    }

    let settings: DeviceClient.Settings
    private var tokens: [String: [UInt8]] = [:]
    /// Topics for which restore, wipe or unregister is still to be answered.
    private var errands: Set<String> = []
    /// Topics whose app is connected, on this connection.
    private var online: Set<String> = []
    private var received = 0
    private(set) var backOff = DeviceBackOff()

    init(settings: DeviceClient.Settings) {
        self.settings = settings
        if settings.errand != .receive { errands = Set(settings.topics) }
    }

    /// The handshake is done.
    mutating func connected() -> Output {
        online = []
        if let token = settings.token, settings.errand == .receive {
            return Output(requests: [.present(token: token)])
        }
        return Output(requests: settings.topics.map(request))
    }

    private func request(for topic: String) -> CourierRequest {
        if errands.contains(topic) {
            switch settings.errand {
            case .restore: return .restore(topic: topic)
            case .wipe: return .wipe(topic: topic)
            case .unregister: return .unregister(topic: topic)
            case .receive: break
            }
        }
        // An app registers at every launch, a device presents what it has at every connect [13].
        return tokens[topic].map(CourierRequest.present) ?? .register(topic: topic)
    }

    /// - Parameter nowMilliseconds: UNIX milliseconds.
    mutating func receive(_ message: CourierMessage, nowMilliseconds: Int64) -> Output {
        switch message {
        case .token(let topic, let token):
            errands.remove(topic)
            var output = Output()
            if tokens.updateValue(token, forKey: topic) != token {
                output.reports = [.token(topic: topic, token: token)]
            }
            arrived(topic, &output)
            return output
        case .presented(let topic):
            var output = Output()
            arrived(topic, &output)
            return output
        case .unregistered(let topic):
            errands.remove(topic)
            return Output(reports: [.unregistered(topic: topic)], end: errands.isEmpty ? .done : nil)
        case .notification(let notification):
            return receive(notification, nowMilliseconds)
        case .refused(let refusal):
            return refused(refusal)
        }
    }

    /// The connection is lost.
    ///
    /// - Parameter random: 0 ..< 1.
    /// - Returns: how long to wait before the next attempt.
    mutating func disconnected(random: Double) -> Duration {
        backOff.next(random: random)
    }

    private mutating func arrived(_ topic: String, _ output: inout Output) {
        backOff.reset()
        online.insert(topic)
        let expected = settings.token == nil ? settings.topics.count : 1
        if settings.count == 0, online.count >= expected { output.end = .done }
    }

    private mutating func receive(_ notification: CourierNotification, _ nowMilliseconds: Int64) -> Output {
        received += 1
        let report = DeviceNotification(
            topic: notification.topic,
            token: notification.token,
            expiration: notification.expiration,
            priority: notification.priority,
            pushType: notification.pushType,
            collapseID: notification.collapseID,
            payload: notification.payload,
            receivedMilliseconds: nowMilliseconds
        )
        let isLast = settings.count.map { received >= $0 } ?? false
        return Output(reports: [.notification(report)], end: isLast ? .done : nil)
    }

    private mutating func refused(_ refusal: CourierRefusal) -> Output {
        // A token from the command line is never replaced silently; a learned one is.
        guard !refusal.code.isFinal, settings.token == nil else { return Output(end: .refused(refusal.text)) }
        tokens = [:]
        return Output(requests: settings.topics.filter { !online.contains($0) }.map(request))
    }
}

/// Waits that double from half a second to half a minute, each drawn from its upper half, so that many devices that
/// lost the same service do not come back at once.
struct DeviceBackOff: Sendable {
    private static let firstMilliseconds = 500
    private static let doublings = 6

    private var attempts = 0

    /// - Parameter random: 0 ..< 1.
    mutating func next(random: Double) -> Duration {
        let limit = Double(Self.firstMilliseconds << min(attempts, Self.doublings))
        attempts += 1
        return .milliseconds(Int(limit / 2 + limit / 2 * random))
    }

    /// A connection was of use.
    mutating func reset() {
        attempts = 0
    }
}
