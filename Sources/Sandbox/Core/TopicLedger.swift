import APNsProtocol

/// Everything the push service knows about one topic: its app instances, what is stored for them, what was accepted,
/// and the feedback list. Quality of service as far as [13] describes it.
///
/// Pure: the time is an argument, in UNIX seconds.
struct TopicLedger: Sendable {
    private(set) var population: DevicePopulation
    private(set) var memory: AcceptedMemory
    private(set) var counters = TopicCounters()
    private(set) var feedback: FeedbackList
    /// What the gateway does wrong on purpose.
    var faults = FaultPlan()
    /// For those who watch.
    var trace = ActivityTrace()
    /// What connected devices are to get.
    var outbox = CourierOutbox()

    /// Until when the one notification stored for each device is kept; 0 = nothing is stored. Empty until the first.
    private var storedUntil: [UInt32] = []

    /// Traps when the count is outside ``SandboxLimits/devices``.
    init(devices: Int, rememberedPairs: Int = SandboxLimits.rememberedPairs) {
        memory = AcceptedMemory(limit: rememberedPairs)
        population = DevicePopulation(count: devices)
        feedback = FeedbackList(devices: devices)
    }

    /// Takes a well-formed notification.
    ///
    /// - Parameter instance: what its token names, `nil` for a token that is not of this topic.
    /// - Returns: the status to refuse it with; `nil` = accepted.
    @inline(__always)
    mutating func accept(_ notification: NotificationView, for instance: AppInstance?, now: UInt32) -> APNsStatus? {
        guard let instance, let reachability = population.reachability(of: instance) else { return .invalidToken }
        counters.accepted += 1
        memory.insert(instance, mark: PayloadMark.read(notification.payload))
        route(to: instance, reachability, expiration: notification.expiration, now: now)
        return nil
    }

    private mutating func route(
        to instance: AppInstance,
        _ reachability: DevicePopulation.Reachability,
        expiration: UInt32,
        now: UInt32
    ) {
        // 0 forbids storing, not the one attempt [13].
        guard expiration == 0 || expiration > now else {
            counters.expired += 1
            return
        }
        switch reachability {
        case .online:
            counters.delivered += 1
            trace.note(.delivered, device: instance.device)
        case .offline:
            store(for: Int(instance.device), expiration: expiration, now: now)
        case .uninstalled:
            reportMissing(instance, now: now)
        }
    }

    /// One notification per app and device: a newer one replaces it [13].
    private mutating func store(for device: Int, expiration: UInt32, now: UInt32) {
        guard expiration > 0 else {
            counters.expired += 1
            return
        }
        if storedUntil.isEmpty { storedUntil = [UInt32](repeating: 0, count: population.count) }
        if storedUntil[device] > 0 {
            counters.coalesced += 1
        } else {
            counters.stored += 1
        }
        let (limit, overflow) = now.addingReportingOverflow(SandboxLimits.storageSeconds)
        storedUntil[device] = min(expiration, overflow ? .max : limit)
    }

    private mutating func reportMissing(_ instance: AppInstance, now: UInt32) {
        counters.feedback += 1
        feedback.add(instance, timestamp: now)
    }

    /// Changes what becomes of notifications for a device, and of the one that is stored for it: when the device is
    /// back it is delivered, finds the app missing, or is out of date.
    ///
    /// An app that is installed again keeps its token, since that is the device's and not the app's [13]; the feedback
    /// list keeps what it has, and the provider has to compare times.
    ///
    /// Traps when there is no such device.
    mutating func set(_ device: Int, _ reachability: DevicePopulation.Reachability, now: UInt32) {
        population.set(device, reachability)
        guard reachability != .offline, !storedUntil.isEmpty, storedUntil[device] > 0 else { return }
        let expiration = storedUntil[device]
        storedUntil[device] = 0
        counters.stored -= 1
        route(to: population.instance(device), reachability, expiration: expiration, now: now)
    }

    /// Empties the feedback list into the hands of a reader.
    mutating func takeFeedback() -> [FeedbackList.Entry] {
        feedback.take()
    }

    /// Counts a notification that was answered with a status.
    mutating func countRefusal(_ status: APNsStatus) {
        counters.countRefusal(status)
    }

    /// Counts notifications that came after the end of what their connection accepts.
    mutating func countDiscarded(_ count: Int) {
        counters.discarded += count
    }
}
