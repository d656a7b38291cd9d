/// Kinds of trouble that a seed may choose beyond the plain worlds. Without any, a seed's world is a plain one.
///
/// Each kind rolls dice of its own, so that leaving one out changes nothing about the others.
struct Features: OptionSet, Sendable, Hashable {
    let rawValue: UInt64

    /// Connections whose bytes go into the void: not acknowledged, not read, not closed.
    static let halfDead = Features(rawValue: 1 << 0)
    /// The peer's kernel acknowledges bytes before the gateway reads them.
    static let receiveBuffers = Features(rawValue: 1 << 1)
    /// Notifications on which the gateway closes without a word, each time.
    static let poison = Features(rawValue: 1 << 2)
    /// Gateways that read slowly for a time.
    static let slow = Features(rawValue: 1 << 3)
    /// Topics that never recover, beside healthy ones.
    static let sick = Features(rawValue: 1 << 4)
    /// As `sick`, without any other fault; the healthy topics' times are bounded.
    static let isolation = Features(rawValue: 1 << 5)
    /// Commits whose answers come late or, for a minute, not at all.
    static let lateCommits = Features(rawValue: 1 << 6)
    static let retention = Features(rawValue: 1 << 7)
    static let offsetsByHand = Features(rawValue: 1 << 8)
    static let unknownMetadata = Features(rawValue: 1 << 9)
    static let largeRecords = Features(rawValue: 1 << 10)
    /// Records in JSON, and such as cannot be decoded.
    static let forms = Features(rawValue: 1 << 11)
    /// Records of a bundle that has no certificate.
    static let withoutCertificate = Features(rawValue: 1 << 12)
    static let expirations = Features(rawValue: 1 << 13)
    /// Keys are checked against the bundle's spread.
    static let spread = Features(rawValue: 1 << 14)
    /// Records of one key in several partitions.
    static let scattered = Features(rawValue: 1 << 15)
    static let manyTopics = Features(rawValue: 1 << 16)
    static let longHoldUps = Features(rawValue: 1 << 17)
    static let blockingCalls = Features(rawValue: 1 << 18)
    /// Keys of Redis that hold something else than they should.
    static let brokenKeys = Features(rawValue: 1 << 19)
    /// Sending goes on without Redis.
    static let withoutRedis = Features(rawValue: 1 << 20)
    static let dedupe = Features(rawValue: 1 << 21)
    static let windows = Features(rawValue: 1 << 22)
    /// Poison and broken keys stay to the end.
    static let forGood = Features(rawValue: 1 << 23)
    /// Shards may hold a few records only.
    static let tightMemory = Features(rawValue: 1 << 24)
    /// Commits that arrive seconds after they were made, and what the group does meanwhile.
    static let deferredCommits = Features(rawValue: 1 << 25)
    /// A bundle whose certificate comes late, or goes and comes back.
    static let certificates = Features(rawValue: 1 << 26)
    /// Workers follow push.tombstones, and ask Redis only for tokens that may be dead. Some register again.
    static let filter = Features(rawValue: 1 << 27)

    /// A take-over begins at the committed offset, or soon goes on from there; laggards are read apart.
    static let farLaggards = Features(rawValue: 1 << 28)

    /// Topics over HTTP/2, and the troubles of their own.
    static let streams = Features(rawValue: 1 << 29)

    /// More topics lag than the metadata has room for.
    static let fewNames = Features(rawValue: 1 << 30)
    /// Topics that are poisoned, full of bad tokens or without a certificate for good, beside healthy ones.
    static let otherSicknesses = Features(rawValue: 1 << 31)
    /// Calls of the consumer that fail at once.
    static let failingCalls = Features(rawValue: 1 << 32)

    /// Requests that ask for a report of their own, mostly a summary.
    static let reports = Features(rawValue: 1 << 33)

    /// Requests that add to the numbers of their tokens.
    static let badges = Features(rawValue: 1 << 34)

    /// Operators pause topics, give them a pace and discard what waits.
    static let levers = Features(rawValue: 1 << 36)

    /// Certificates are replaced while workers run, also by such as are refused for a time.
    static let replacedCertificates = Features(rawValue: 1 << 35)

    /// Records with headers, also with more than are allowed.
    static let headers = Features(rawValue: 1 << 37)
    /// Connections that the gateway ends in two steps.
    static let farewells = Features(rawValue: 1 << 38)
    /// Hosts that are suspended, for longer than the group's session or less.
    static let suspensions = Features(rawValue: 1 << 39)

    /// Clocks of hosts that are hours ahead or behind: of workers, or of Redis.
    static let skewedClocks = Features(rawValue: 1 << 40)

    /// Commits that the broker forgets.
    static let expiredCommits = Features(rawValue: 1 << 41)
    /// Workers that differ from those before them in their configuration or their version.
    static let differentOwners = Features(rawValue: 1 << 42)
    /// Producers with little room, and small slices of what is published.
    static let littleRoom = Features(rawValue: 1 << 43)
    /// Brokers that refuse publications: their size, or for a time their Kafka topic.
    static let refusedPublications = Features(rawValue: 1 << 44)

    /// Records whose content the gateway refuses to every token.
    static let refusedContents = Features(rawValue: 1 << 45)
    /// A leader is elected that lacks the last records of a partition.
    static let cutLogs = Features(rawValue: 1 << 46)
    /// Topics over HTTP/2 that the service refuses for a time, as after an app's transfer to another team.
    static let disallowedTopics = Features(rawValue: 1 << 47)
    /// Requests in several lanes, and workers that serve all of them or one.
    static let lanes = Features(rawValue: 1 << 48)
    /// Quotas of the urgent lane, over which records are moved; where there are lanes.
    static let quota = Features(rawValue: 1 << 49)
    /// Topics whose connections are open before anything is to be sent; where there is an urgent lane beside others.
    static let warmth = Features(rawValue: 1 << 50)

    /// New ones come at the end: the dice of a feature are told by its place.
    static let named: [(name: String, feature: Features)] = [
        ("half-dead", .halfDead), ("receive-buffers", .receiveBuffers), ("poison", .poison), ("slow", .slow),
        ("sick", .sick), ("isolation", .isolation), ("late-commits", .lateCommits), ("retention", .retention),
        ("offsets-by-hand", .offsetsByHand), ("unknown-metadata", .unknownMetadata),
        ("large-records", .largeRecords), ("forms", .forms), ("without-certificate", .withoutCertificate),
        ("expirations", .expirations), ("spread", .spread), ("scattered", .scattered),
        ("many-topics", .manyTopics), ("long-hold-ups", .longHoldUps), ("blocking-calls", .blockingCalls),
        ("broken-keys", .brokenKeys), ("without-redis", .withoutRedis), ("dedupe", .dedupe), ("windows", .windows),
        ("for-good", .forGood), ("tight-memory", .tightMemory), ("deferred-commits", .deferredCommits),
        ("certificates", .certificates), ("filter", .filter),
        ("far-laggards", .farLaggards), ("streams", .streams), ("few-names", .fewNames),
        ("other-sicknesses", .otherSicknesses), ("failing-calls", .failingCalls), ("reports", .reports),
        ("badges", .badges), ("levers", .levers), ("replaced-certificates", .replacedCertificates),
        ("headers", .headers), ("farewells", .farewells),
        ("suspensions", .suspensions), ("skewed-clocks", .skewedClocks), ("expired-commits", .expiredCommits),
        ("different-owners", .differentOwners),
        ("little-room", .littleRoom), ("refused-publications", .refusedPublications),
        ("refused-contents", .refusedContents), ("cut-logs", .cutLogs),
        ("disallowed-topics", .disallowedTopics), ("lanes", .lanes), ("quota", .quota),
        ("warmth", .warmth),
    ]

    static let all = Features(named.map(\.feature))
    /// Features that the sender is not ready for.
    static let planned: Features = []
    /// Features that seeds choose from unless told otherwise.
    static let current: Features = all.subtracting(planned)
}

/// Rules of the auditor that can be switched on or off.
struct Checks: OptionSet, Sendable, Hashable {
    let rawValue: UInt32

    /// 3: within one assignment no topic's cursor goes back.
    static let neverBack = Checks(rawValue: 1 << 0)
    /// 3: only the owner of a partition commits for it.
    static let ownCommits = Checks(rawValue: 1 << 1)
    /// 3: after a fencing error nothing is sent until the next assignment.
    static let fencing = Checks(rawValue: 1 << 2)
    /// 3: nothing new is written while a commit is unanswered for too long.
    static let commitPatience = Checks(rawValue: 1 << 3)
    /// 6: the time of a healthy topic beside sick ones.
    static let isolation = Checks(rawValue: 1 << 4)
    /// 7: bytes of topics and shards.
    static let bytes = Checks(rawValue: 1 << 5)
    /// 8: one dead letter per record and reason.
    static let deadLetters = Checks(rawValue: 1 << 6)
    /// 10: a punctual gateway that refuses everything leads to no tombstone at all.
    static let noWrongTombstone = Checks(rawValue: 1 << 7)
    /// A partition whose metadata is of an unknown version stands.
    static let unknownMetadata = Checks(rawValue: 1 << 8)
    /// The worker counts what retention took.
    static let retention = Checks(rawValue: 1 << 9)
    /// 4: a worker has one request of a token in flight.
    static let oneRequest = Checks(rawValue: 1 << 10)

    static let named: [(name: String, check: Checks)] = [
        ("never-back", .neverBack), ("own-commits", .ownCommits), ("fencing", .fencing),
        ("commit-patience", .commitPatience), ("isolation", .isolation), ("bytes", .bytes),
        ("dead-letters", .deadLetters), ("no-wrong-tombstone", .noWrongTombstone),
        ("unknown-metadata", .unknownMetadata), ("retention", .retention), ("one-request", .oneRequest),
    ]

    static let all = Checks(named.map(\.check))
    /// Checks that hold unless told otherwise.
    static let current: Checks = all
}
