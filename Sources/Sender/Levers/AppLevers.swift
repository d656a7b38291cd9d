import Logging
import PipelineCore
import RequestLanes

/// Applies the levers of push.controls that hold in the shard's lane to its topics.
///
/// A topic that is paused sends nothing and lags; one with a pace is fed by it; requests that are discarded end as
/// `aborted` where they are fed. Notifications that a new lever concerns and that have no connection yet are taken back
/// and fed anew, so that one place decides: ``RecordAdmission``. Bound to the shard's event loop.
final class AppLevers {
    private let controls: ShardControls
    private let group: Group
    private let gateway: Gateway
    private let placement: KeyPlacement?
    private let logger: Logger
    /// By index of the topic, of those that have a pace or a quota.
    private(set) var shares: [Int32: Share] = [:]

    /// A topic's share of its pace in this shard.
    struct Share {
        var keys: PaceShare
        var value: Double
        /// It is found anew then: partitions come and go.
        var until: MonotonicTime
    }

    /// Time between two looks at the partitions of a paced topic: a look goes through all of them. [ours]
    private static let shareInterval = Duration.milliseconds(500)

    init(_ controls: ShardControls, group: Group, gateway: Gateway, placement: KeyPlacement?, logger: Logger) {
        self.controls = controls
        self.group = group
        self.gateway = gateway
        self.placement = placement
        self.logger = logger
    }

    /// Takes new levers. When it returns, nothing more of a paused topic, or of a discarded request, goes to a
    /// connection.
    func use(_ new: AppControls, now: MonotonicTime) {
        controls.use(new)
        for account in group.directory.accounts {
            guard let topic = account.topic else { continue }
            let control = controls[topic.name]
            guard control != topic.control else { continue }
            let former = topic.control
            topic.control = control
            log(topic, former)
            lookAtCursorsAnew(of: topic)
            setPace(of: account, now: now)
            guard control.holdsMore(than: former) else { continue }
            // Also without lanes: notifications may be on their way to them.
            if gateway.lanes(ofTopic: topic.index) != nil || group.hasWork(topic) { gateway.recall(topic) }
        }
    }

    /// The levers of a topic, by the lane in which they hold: also those of lanes that other shards serve.
    func controlsByLane(of topic: Topic) -> [RequestLane: AppControl] { controls.byLane(topic.name) }

    /// Sets the pace of a topic in this shard.
    func setPace(of account: AppAccount, now: MonotonicTime) {
        guard let topic = account.topic, let rate = topic.control.notificationsPerSecond else {
            guard account.pace != nil else { return }
            account.pace = nil
            if let index = account.topic?.index { shares[index] = nil }
            return
        }
        let perSecond = Double(rate) * share(of: account, topic, now: now)
        guard account.pace != nil else {
            account.pace = Pace(perSecond: perSecond, now: now)
            return
        }
        account.pace?.change(perSecond: perSecond, now: now)
    }

    /// Makes the quota of a topic, or brings it up to date. The shard has the same share of it as of a pace.
    func updateQuota(of account: AppAccount, now: MonotonicTime) {
        guard let topic = account.topic, let quota = topic.urgentQuota else { return }
        let perMinute = Double(quota) * share(of: account, topic, now: now)
        if account.quota == nil { account.quota = UrgentQuota(perMinute: perMinute, now: now) }
        account.quota?.change(perMinute: perMinute, now: now)
    }

    /// Partitions have come or gone: without its share a record would be over a quota that it is within.
    func partitionsChanged() {
        for index in shares.keys { shares[index]?.until = MonotonicTime(nanoseconds: 0) }
    }

    private func share(of account: AppAccount, _ topic: Topic, now: MonotonicTime) -> Double {
        guard let count = placement?.partitionCount else { return 1 }
        let spread = topic.tokenRule.spread
        let former = shares[topic.index].flatMap { $0.keys.spread == spread ? $0 : nil }
        if let former, now < former.until { return former.value }
        let keys =
            former.flatMap { $0.keys.partitionCount == count ? $0.keys : nil }
            ?? PaceShare(bundleID: topic.bundleID, spread: spread, partitionCount: count)
        let value = keys.share(of: group.active.map(\.number), hasShards: account.hasShards) { number in
            group.assigned[number]?.feeds.values.contains { $0.carries(topic) } ?? false
        }
        shares[topic.index] = Share(keys: keys, value: value, until: now + Self.shareInterval)
        return value
    }

    /// A record at which a discarding topic stands may be meant now.
    private func lookAtCursorsAnew(of topic: Topic) {
        for partition in group.active {
            for feed in partition.feeds.values where feed.carries(topic) { feed.keptAt = nil }
        }
    }

    private func log(_ topic: Topic, _ former: AppControl) {
        let control = topic.control
        let metadata: Logger.Metadata = ["app": "\(topic.bundleID)", "environment": "\(topic.environment)"]
        if control.isPaused != former.isPaused {
            logger.notice(control.isPaused ? "topic is paused" : "topic goes on", metadata: metadata)
        }
        if control.notificationsPerSecond != former.notificationsPerSecond {
            let pace = control.notificationsPerSecond.map { "\($0)" } ?? "none"
            logger.notice("topic has another pace", metadata: metadata.merging(["per-second": "\(pace)"]) { $1 })
        }
        if let discard = control.discard, discard != former.discard {
            logger.notice(
                "requests of a topic are discarded",
                metadata: metadata.merging(["published-before-ms": "\(discard.publishedBefore)"]) { $1 }
            )
        }
    }
}

/// The levers that hold in a shard: those of its lane. Also for topics to come.
final class ShardControls {
    private var all: AppControls
    private let lane: RequestLane

    init(_ all: AppControls, in lane: RequestLane) {
        self.all = all
        self.lane = lane
    }

    func use(_ new: AppControls) { all = new }

    subscript(name: AppControls.Name) -> AppControl { all.control(of: name, in: lane) }

    /// The levers that hold in each lane, the shard's or another.
    func byLane(_ name: AppControls.Name) -> [RequestLane: AppControl] { all.controlsByLane(of: name) }
}

extension Topic {
    /// The topic as its levers name it.
    var name: AppControls.Name { AppControls.Name(environment: environment, bundleID: bundleID) }
}

extension AppControl {
    /// Something that might go under the former levers may not go under these.
    fileprivate func holdsMore(than former: AppControl) -> Bool {
        if isPaused, !former.isPaused { return true }
        if let discard, discard != former.discard { return true }
        guard let rate = notificationsPerSecond else { return false }
        return former.notificationsPerSecond.map { rate < $0 } ?? true
    }
}
