import APNsProtocol

/// Everything the push service knows about one topic: its app instances, what is stored for them, what was accepted,
/// and the feedback list. Quality of service as far as [13] describes it.
///
/// Pure: the time is an argument, in UNIX seconds; chance begins with a seed.
struct DeviceLedger: Sendable {
    /// Settings that a topic starts with.
    struct Settings: Sendable {
        /// The topic's index in the file of acceptances.
        var topic: UInt16 = 0
        /// See ``AcceptedPairs/limit``.
        var rememberedPairs = SandboxLimits.rememberedPairs
        /// Pairs for which room is made as soon as the topic is used, if they are more than its devices.
        var expectedPairs = 0
        /// See ``AcceptedLog/limit``.
        var acceptedEntries = SandboxLimits.acceptedEntries
        /// The store's memory.
        var storageBytes = 256 << 20
        /// Memory for the notifications that were accepted last.
        var recentBytes = 1 << 20
        /// Acceptances that wait to be written to a file, at most. 0 = there is no file.
        var recordedRecords = 0
        /// Acceptances are counted by the titles of their alerts.
        var countsTitles = false
        var seed: UInt64 = 0
        var initial = PopulationShares()
        var churn = ChurnRates()
        /// Status that refuses a notification of priority 10 that shows nothing.
        var protocolErrorStatus = APNsStatus.unknown
    }

    var population: DevicePopulation
    private(set) var memory: AcceptedPairs
    private(set) var log: AcceptedLog
    /// Acceptances to be written to a file.
    private(set) var recorded: AcceptedChunk
    private(set) var feedback: FeedbackList
    /// Entries that readers have taken from the list, since the start.
    private(set) var feedbackTaken = 0
    /// Of these: tuples that a reader's system has acknowledged.
    private(set) var feedbackArrived = 0
    var counters = SandboxTopicCounters()
    /// The notifications that wait, see ``DeviceLedger/route(_:to:_:isValid:now:)``.
    var store: NotificationStore
    /// The devices whose notifications wait for a power-saving time.
    var heldDevices: HeldDevices
    /// The notifications that were accepted last.
    private(set) var recent: RecentNotifications
    /// The errors that the gateway makes on purpose.
    var faults = FaultPlan()
    /// A sample of recent events, for the page.
    var trace = ActivityTrace()
    /// Notifications for connected devices.
    var outbox = CourierOutbox()
    /// Acceptances by title, if they are counted.
    var titles: TitleCounts
    /// Channels of broadcasts.
    var channels = ChannelList()
    /// Reads the payloads of notifications.
    var payloads = PayloadReader()

    private var churn: PopulationChurn
    private let protocolErrorStatus: APNsStatus
    private let topic: UInt16

    /// Traps when the count is outside ``SandboxLimits/devices``.
    init(devices: Int, settings: Settings = Settings()) {
        population = DevicePopulation(count: devices, shares: settings.initial, seed: settings.seed)
        memory = AcceptedPairs(limit: settings.rememberedPairs, expected: max(devices, settings.expectedPairs))
        log = AcceptedLog(limit: settings.acceptedEntries)
        recorded = AcceptedChunk(limit: settings.recordedRecords)
        feedback = FeedbackList(devices: devices)
        titles = TitleCounts(isCounting: settings.countsTitles)
        store = NotificationStore(devices: devices, limitBytes: settings.storageBytes)
        heldDevices = HeldDevices(devices: devices)
        recent = RecentNotifications(limitBytes: settings.recentBytes)
        churn = PopulationChurn(devices: devices, rates: settings.churn, seed: ~settings.seed)
        protocolErrorStatus = settings.protocolErrorStatus
        topic = settings.topic
    }

    /// Takes a well-formed notification.
    ///
    /// - Parameter instance: what its token names, `nil` for a token that is not of this topic.
    /// - Returns: the status to refuse it with; `nil` = accepted.
    @inline(__always)
    mutating func accept(_ notification: NotificationView, for instance: AppInstance?, now: UInt32) -> APNsStatus? {
        guard let instance, let reachability = population.reachability(of: instance) else { return .invalidToken }
        let reading = payloads.read(notification.payload)
        if reading.isContentAvailableOnly, notification.priority == .immediate {
            trace.noteEvent(.refused, device: instance.device)
            return protocolErrorStatus
        }
        book(RoutedNotification(notification), for: instance, reachability, reading, now: now)
        return nil
    }

    /// Writes a notification that is accepted into the books, and sends it on its way.
    @inline(__always)
    mutating func book(
        _ notification: RoutedNotification,
        for instance: AppInstance,
        _ reachability: DevicePopulation.Reachability,
        _ reading: PayloadReading,
        now: UInt32
    ) {
        counters.accepted += 1
        memory.insert(instance, mark: reading.mark)
        log.append(instance, mark: reading.mark)
        if recorded.isRecording {
            recorded.append(AcceptedRecord(topic: topic, instance: instance, mark: reading.mark, time: now))
        }
        recent.note(notification, for: instance, isValid: reading.isValid, now: now)
        if titles.isCounting { titles.count(notification.payload) }
        route(notification, to: instance, reachability, isValid: reading.isValid, now: now)
    }

    /// Lists an app as missing, now.
    mutating func reportMissing(_ instance: AppInstance, now: UInt32) {
        counters.feedback += 1
        trace.noteEvent(.feedback, device: instance.device)
        feedback.add(instance, timestamp: now)
    }

    /// Empties the feedback list into the hands of a reader.
    mutating func takeFeedback() -> [FeedbackList.Entry] {
        let taken = feedback.takeEntries()
        feedbackTaken += taken.count
        return taken
    }

    /// Lists an app as missing without a notification for it, for tests of readers of the list.
    mutating func list(_ device: Int, timestamp: UInt32) {
        feedback.add(population.instance(device), timestamp: timestamp)
    }

    /// Counts tuples that a reader's system has.
    mutating func countFeedback(arrived: Int) {
        feedbackArrived += arrived
    }

    /// Exchanges the acceptances to be written for an empty chunk, which must have been made for as many.
    mutating func takeRecorded(into chunk: inout AcceptedChunk) {
        swap(&recorded, &chunk)
    }

    /// Shows watchers that a fault refuses a notification for a device of the topic.
    mutating func noteRefusal(of instance: AppInstance) {
        guard population.reachability(of: instance) != nil else { return }
        trace.noteEvent(.refused, device: instance.device)
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

/// Devices come and go.
extension DeviceLedger {
    /// Changes a device's state. The notification that is stored for it is then delivered, finds the app missing, or is
    /// out of date.
    ///
    /// An app that is installed again keeps its token, since that is the device's and not the app's [13]; the feedback
    /// list keeps what it has, and the provider has to compare times.
    ///
    /// Traps when there is no such device.
    mutating func set(_ device: Int, _ reachability: DevicePopulation.Reachability, now: UInt32) {
        guard population.state(device) != reachability else { return }
        population.set(device, reachability)
        settle(population.instance(device), reachability, now: now)
        settleBroadcasts(UInt32(device), reachability, now: now)
    }

    /// The app on a device gets a new token, since the device was restored or wiped [13]: the old one becomes invalid,
    /// and what is stored for it is discarded. The device is online.
    ///
    /// Traps when there is no such device.
    ///
    /// - Returns: the instance that the new token has to name.
    @discardableResult
    mutating func renew(_ device: Int, now: UInt32) -> AppInstance {
        discardStored(UInt32(device))
        population.renew(device)
        settleBroadcasts(UInt32(device), .online, now: now)
        return population.instance(device)
    }

    /// Rates at which devices change their state by themselves.
    var churnRates: ChurnRates {
        get { churn.rates }
        set { churn.rates = newValue }
    }

    /// A second has passed for the population; ``churnDevices(atMost:now:)`` makes it felt.
    mutating func tickChurn() {
        churn.tick()
    }

    /// Changes devices that change by themselves.
    ///
    /// - Parameter limit: how many devices are asked at most.
    /// - Returns: whether none is left until the next tick.
    mutating func churnDevices(atMost limit: Int, now: UInt32) -> Bool {
        for _ in 0..<limit {
            guard let pick = churn.next() else { return true }
            let state = population.state(pick.device)
            if pick.from.map({ $0 == state }) ?? (state != .removed) { set(pick.device, pick.to, now: now) }
        }
        return false
    }
}
