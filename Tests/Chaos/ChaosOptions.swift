import LocalPipeline

/// The settings of a run.
struct ChaosOptions: Sendable {
    /// The way groups share out partitions, as librdkafka names it.
    enum Assignment: String, CaseIterable, Sendable {
        /// Eager: all are given back and shared out anew.
        case range
        /// Cooperative: only those that move.
        case cooperativeSticky = "cooperative-sticky"
    }

    /// The token state's servers.
    enum Redis: String, CaseIterable, Sendable {
        /// Three masters with a replica each: replicas take over, and slots move.
        case cluster
        /// A master with a replica, which takes over when three sentinels say so.
        case sentinel
        /// One server.
        case single

        /// Unless told otherwise. Both transports together see both ways in which a replica takes over.
        static func standard(with transport: PipelineTransport) -> Self {
            switch transport {
            case .binary: .cluster
            case .http2: .sentinel
            }
        }
    }

    /// Between workers and sandbox.
    var transport = PipelineTransport.binary
    var seed: UInt64 = 1
    /// Of publishing under faults.
    var seconds = 300
    /// Notifications per second.
    var rate = 20_000
    /// With the faults of ``FaultMenu/withholding``, too; of the binary interface only.
    var isWithholding = false
    /// Others use the machine as well.
    var isBusy = false
    /// Publish into all lanes; nil: unless it is a soak. With its many topics the first urgent record of one may come
    /// late, and the connections that it opens would look like descriptors that leak.
    var wantsLanes: Bool?
    /// Nothing is disturbed; memory and descriptors of the roles are watched instead.
    var isSoak = false
    var assignment = Assignment.range
    var redis = Redis.cluster
    var executable: String

    init(executable: String) {
        self.executable = executable
    }

    /// The faults of the sandbox that the schedule goes through.
    var menu: [ChaosFault] {
        switch transport {
        case .binary: FaultMenu.usual + (isWithholding ? FaultMenu.withholding : [])
        case .http2: FaultMenu.http2
        }
    }

    /// Records go into all lanes.
    var usesLanes: Bool { wantsLanes ?? !isSoak }

    /// The disturbances of the run.
    var schedule: ChaosSchedule {
        isSoak
            ? ChaosSchedule(calm: seed, seconds: seconds)
            : ChaosSchedule(seed: seed, seconds: seconds, menu: menu, redis: redis)
    }

    /// The campaigns of a soak; nil: records of all topics are mixed.
    var campaigns: CampaignPlan? { isSoak ? CampaignPlan(seconds: seconds, rate: rate) : nil }

    /// Tokens a minute that stay urgent. A soak has none, for what it looks at is the memory of campaigns.
    var quotas: UrgentQuotas {
        usesLanes && !isSoak ? UrgentQuotas(topics: topics.count, rate: rate) : UrgentQuotas()
    }

    /// Keys of the configuration for single topics: the quotas, and for one that its connections are kept open.
    var apps: [String: String] {
        guard usesLanes, !isSoak else { return [:] }
        var apps = [topics[0]: "urgent-warm: true"]
        for (topic, quota) in quotas.perMinute {
            apps[topics[topic]] = "spread: \(RequestStream.spread), urgent-quota: \(quota)"
        }
        return apps
    }

    /// Topics that are sent to.
    var topics: [String] {
        isSoak ? (1...CampaignPlan.topics).map { "com.example.campaign\($0)" } : LocalPipeline.Options().topics
    }

    /// A gateway may be silent for longer than the window: what was presumed may be wrong. Over HTTP/2 nothing is
    /// presumed.
    var mayPresumeWrongly: Bool { transport == .binary && (isWithholding || isBusy) }
}
