import BelfrySupport

extension RoleAnswer: Decodable {
    private enum Keys: String, CodingKey {
        case version, role, programVersion, uptimeSeconds, isReady, obstacles, process, configuration, partitions
        case topics, omittedTopics, controlsAgeSeconds, gateways, certificates, keys, harvests, totals, outcomes
        case delivery, scaling
    }

    private enum ProcessKeys: String, CodingKey { case residentBytes, cpuSeconds, openDescriptors }
    private enum ConfigurationKeys: String, CodingKey { case restartNeeded }
    private enum ScalingKeys: String, CodingKey { case recordsPerSecond }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        let version = try fields.decode(Int.self, forKey: .version)
        guard version == RoleStatus.currentVersion else {
            throw AnswerTrouble("its /status is of version \(version), this console reads \(RoleStatus.currentVersion)")
        }
        self.init(role: try fields.text(.role))
        guard !role.isEmpty else { throw AnswerTrouble("its /status names no role") }
        programVersion = try fields.text(.programVersion)
        uptimeSeconds = try fields.seconds(.uptimeSeconds)
        isReady = try fields.decodeIfPresent(Bool.self, forKey: .isReady) ?? false
        obstacles = try fields.list(.obstacles, limit: 20, of: String.self).map { PlainText.clean($0) }
        if fields.contains(.process) {
            let process = try fields.nestedContainer(keyedBy: ProcessKeys.self, forKey: .process)
            residentBytes = try process.count(.residentBytes)
            cpuSeconds = try process.seconds(.cpuSeconds)
            openDescriptors = try process.count(.openDescriptors)
        }
        if fields.contains(.configuration) {
            let configuration = try fields.nestedContainer(keyedBy: ConfigurationKeys.self, forKey: .configuration)
            restartNeeded = try configuration.list(.restartNeeded, limit: 50, of: PendingSetting.self).map(\.key)
        }
        partitions = try fields.list(.partitions, limit: ConsoleLimits.partitions)
        topics = try fields.list(.topics, limit: ConsoleLimits.rows)
        omittedTopics = try fields.count(.omittedTopics) ?? 0
        controlsAgeSeconds = try fields.seconds(.controlsAgeSeconds)
        gateways = try fields.list(.gateways, limit: 50)
        certificates = try fields.list(.certificates, limit: ConsoleLimits.rows)
        keys = try fields.list(.keys, limit: ConsoleLimits.rows)
        harvests = try fields.list(.harvests, limit: ConsoleLimits.rows)
        totals = try fields.counts(.totals)
        outcomes = try fields.counts(.outcomes)
        let told = try fields.list(.delivery, limit: 20, of: Delivery.self)
        delivery = Dictionary(told.compactMap(\.known), uniquingKeysWith: { first, _ in first })
        if fields.contains(.scaling) {
            let scaling = try fields.nestedContainer(keyedBy: ScalingKeys.self, forKey: .scaling)
            recordsPerSecond = try scaling.seconds(.recordsPerSecond)
        }
    }
}

/// A key whose value needs a restart, as it is answered. Its values are not read: they are for readers of the answer
/// itself.
private struct PendingSetting: Decodable {
    private enum Keys: String, CodingKey { case key }

    let key: String

    init(from decoder: any Decoder) throws { key = try decoder.container(keyedBy: Keys.self).text(.key) }
}

/// The times of one way as they are answered.
private struct Delivery: Decodable {
    private enum Keys: String, CodingKey { case transport, topicClass, boundsSeconds, handedOver, settled }

    /// Nil: a way, or bounds, of another version.
    let known: (DeliveryCounts.Way, DeliveryCounts)?

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        let bounds = try fields.list(.boundsSeconds, limit: 100, of: Double.self)
        let handedOver = try fields.buckets(.handedOver)
        let settled = try fields.buckets(.settled)
        guard let transport = EnvironmentSettings.Transport(rawValue: try fields.text(.transport)),
            let topicClass = DeliveryCounts.Way.AppClass(rawValue: try fields.text(.topicClass)),
            bounds == TimeCounts.boundsSeconds
        else {
            known = nil
            return
        }
        let way = DeliveryCounts.Way(transport: transport, topicClass: topicClass)
        known = (way, DeliveryCounts(handedOver: handedOver, settled: settled))
    }
}

/// A cursor as it is answered: the page shows its lane alone.
private struct Cursor: Decodable {
    private enum Keys: String, CodingKey { case lane }

    let lane: String

    init(from decoder: any Decoder) throws {
        lane = try decoder.container(keyedBy: Keys.self).textIfPresent(.lane) ?? RoleAnswer.normalLane
    }
}

extension RoleAnswer.Partition: Decodable {
    private enum Keys: String, CodingKey {
        case kafkaTopic, number, lagRecords, waitingRecords, behindTopics, isStanding
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        kafkaTopic = try fields.text(.kafkaTopic)
        number = try fields.count(.number) ?? 0
        lagRecords = try fields.count(.lagRecords)
        waitingRecords = try fields.count(.waitingRecords)
        behindTopics = try fields.count(.behindTopics) ?? 0
        isStanding = try fields.decodeIfPresent(Bool.self, forKey: .isStanding) ?? false
    }
}

extension RoleAnswer.TopicName: Decodable {
    private enum Keys: String, CodingKey { case topic, environment }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        topic = try fields.text(.topic)
        environment = try fields.text(.environment)
    }
}

extension RoleAnswer.Topic: Decodable {
    private enum Keys: String, CodingKey {
        case stoppedBecause, paused, pausedLanes, pace, pacedLanes, discardsBefore, discardingLanes
        case lagRecords, cursors, cursorAgeSeconds, oldestUnconfirmedSeconds
        case inFlight, waiting, openConnections, accepted
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        name = try RoleAnswer.TopicName(from: decoder)
        stoppedBecause = try fields.textIfPresent(.stoppedBecause)
        isPaused = try fields.decodeIfPresent(Bool.self, forKey: .paused) ?? false
        pausedLanes = try fields.lanes(.pausedLanes)
        pace = try fields.count(.pace)
        pacedLanes = try fields.lanes(.pacedLanes)
        discardsBefore = try fields.textIfPresent(.discardsBefore)
        discardingLanes = try fields.lanes(.discardingLanes)
        lagRecords = try fields.count(.lagRecords) ?? 0
        let cursors = try fields.list(.cursors, limit: ConsoleLimits.cursors, of: Cursor.self)
        laggingLanes = RoleAnswer.lanes.filter { lane in cursors.contains { $0.lane == lane } }
        cursorAgeSeconds = try fields.seconds(.cursorAgeSeconds)
        oldestUnconfirmedSeconds = try fields.seconds(.oldestUnconfirmedSeconds)
        inFlight = try fields.count(.inFlight) ?? 0
        waiting = try fields.count(.waiting) ?? 0
        openConnections = try fields.count(.openConnections) ?? 0
        accepted = try fields.count(.accepted) ?? 0
    }
}

extension RoleAnswer.Gateways: Decodable {
    private enum Keys: String, CodingKey { case environment, transport, addresses, connections }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        environment = try fields.text(.environment)
        transport = try fields.text(.transport)
        addresses = try fields.list(.addresses, limit: 50, of: String.self).map { PlainText.clean($0) }
        connections = try fields.counts(.connections)
    }
}

extension RoleAnswer.Certificate: Decodable {
    private enum Keys: String, CodingKey { case daysLeft }

    init(from decoder: any Decoder) throws {
        name = try RoleAnswer.TopicName(from: decoder)
        let days = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .daysLeft)
        daysLeft = min(max(days, -100_000), 100_000)
    }
}

extension RoleAnswer.Key: Decodable {
    private enum Keys: String, CodingKey { case team, key, tokenAgeSeconds }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        team = try fields.text(.team)
        key = try fields.text(.key)
        tokenAgeSeconds = try fields.seconds(.tokenAgeSeconds) ?? 0
    }
}

extension RoleAnswer.Harvest: Decodable {
    private enum Keys: String, CodingKey { case ageSeconds, step, holdsLease }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        name = try RoleAnswer.TopicName(from: decoder)
        ageSeconds = try fields.seconds(.ageSeconds) ?? 0
        step = try fields.text(.step)
        holdsLease = try fields.decodeIfPresent(Bool.self, forKey: .holdsLease) ?? false
    }
}

extension KeyedDecodingContainer {
    /// A text fit to be shown; empty: it is not there.
    fileprivate func text(_ key: Key) throws -> String {
        PlainText.clean(try decodeIfPresent(String.self, forKey: key) ?? "")
    }

    /// A text fit to be shown; nil: it is not there, or empty.
    fileprivate func textIfPresent(_ key: Key) throws -> String? {
        let shown = try text(key)
        return shown.isEmpty ? nil : shown
    }

    /// Exact up to the limit, which is far below that of the number's type.
    private static func count(_ number: Double) -> Int { Int(min(max(number, 0), Double(ConsoleLimits.count))) }

    /// A count from 0 to ``ConsoleLimits/count``; nil: it is not there.
    fileprivate func count(_ key: Key) throws -> Int? {
        try decodeIfPresent(Double.self, forKey: key).map(Self.count)
    }

    /// A number from 0 to ``ConsoleLimits/seconds``; nil: it is not there.
    fileprivate func seconds(_ key: Key) throws -> Double? {
        try decodeIfPresent(Double.self, forKey: key).map { min(max($0, 0), ConsoleLimits.seconds) }
    }

    /// Counts by name; the first hundred in the order of their names.
    fileprivate func counts(_ key: Key) throws -> [String: Int] {
        let all = try decodeIfPresent([String: Double].self, forKey: key) ?? [:]
        let kept = all.sorted { $0.key < $1.key }.prefix(100)
        return Dictionary(
            kept.map { (PlainText.clean($0.key), Self.count($0.value)) },
            uniquingKeysWith: max
        )
    }

    /// Counts by bucket.
    fileprivate func buckets(_ key: Key) throws -> TimeCounts {
        TimeCounts(try list(key, limit: 100, of: Double.self).map(Self.count))
    }

    /// Lanes that this console knows, in the order of ``RoleAnswer/lanes``.
    fileprivate func lanes(_ key: Key) throws -> [String] {
        let told = try list(key, limit: 20, of: String.self)
        return RoleAnswer.lanes.filter { told.contains($0) }
    }

    /// The first elements of a list; what follows is not read.
    fileprivate func list<Element: Decodable>(
        _ key: Key,
        limit: Int,
        of type: Element.Type = Element.self
    ) throws -> [Element] {
        guard contains(key), try !decodeNil(forKey: key) else { return [] }
        var list = try nestedUnkeyedContainer(forKey: key)
        var elements: [Element] = []
        while !list.isAtEnd, elements.count < limit { elements.append(try list.decode(Element.self)) }
        return elements
    }
}
