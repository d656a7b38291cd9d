import APNsProtocol
import PipelineCore
import PushSchemas

/// Features that the seed adds to a plain world.
extension WorldPlan {
    /// Worlds that stay plain, of a hundred.
    private static let plainShare = 35
    /// Of a hundred worlds that are not plain, so many have a feature.
    private static let featureShare = 11
    /// The same of the other transport, which is half of the sender.
    private static let streamShare = 35
    /// The same of what only worlds with lanes have.
    private static let laneShare = 60

    mutating func widen(_ features: Features) {
        var dice = Dice(seed: seed, stream: 2)
        guard !features.isEmpty, !dice.chance(Self.plainShare) else { return }
        for (place, named) in Features.named.enumerated() where features.contains(named.feature) {
            var dice = Dice(seed: seed, stream: UInt64(1000 + place))
            if dice.chance(Self.share(of: named.feature)) { add(named.feature, &dice) }
        }
        faults.sort { $0.time < $1.time }
    }

    private static func share(of feature: Features) -> Int {
        switch feature {
        case .streams: streamShare
        case .quota, .warmth: laneShare
        default: featureShare
        }
    }

    private var end: VirtualTime { records.last?.time ?? 0 }

    /// Some time while records are published.
    private func moment(_ dice: inout Dice) -> VirtualTime {
        .milliseconds(300) + VirtualTime(dice.pick(0...Int(end / 1000))) * 1000
    }

    /// - Parameter lasting: milliseconds.
    mutating func add(_ kind: Fault.Kind, lasting: ClosedRange<Int>, _ dice: inout Dice) {
        faults.append(
            Fault(
                kind,
                at: moment(&dice),
                lasting: dice.time(lasting),
                worker: dice.pick(0...7),
                topic: dice.pick(0...options.topics - 1)
            )
        )
    }

    mutating func add(_ feature: Features, _ dice: inout Dice) {
        switch feature {
        case .halfDead: add(.halfDead, lasting: 0...4000, &dice)
        case .receiveBuffers: options.receiveBuffer = dice.pick(500...20_000)
        case .poison: forSome(1, &dice) { record, dice in record.poison = [record.tokens[0]] }
        case .slow: add(.slow(bytesPerSecond: dice.pick(200...3000)), lasting: 1000...8000, &dice)
        case .sick: makeSick(&dice)
        case .isolation: isolate(&dice)
        case .lateCommits:
            add(.commitsLate, lasting: 1000...9000, &dice)
            if dice.chance(50) { add(.commitsUnanswered(isApplied: dice.chance(70)), lasting: 500...3000, &dice) }
        case .retention: add(.retention(percent: dice.pick(20...100)), lasting: 0...0, &dice)
        case .offsetsByHand: add(.offsetsSet(by: dice.pick(-30...5)), lasting: 100...2000, &dice)
        case .unknownMetadata: add(.unknownMetadata, lasting: 2000...6000, &dice)
        case .largeRecords: enlarge(&dice)
        case .forms:
            forSome(20, &dice) { record, dice in
                record.form = dice.chance(80) ? .json : .undecodable
                if record.form == .undecodable { record.tokens = [record.tokens[0]] }
            }
        case .withoutCertificate: forSome(5, &dice) { record, _ in record.form = .withoutCertificate }
        case .expirations: forSome(30, &dice) { record, dice in record.expires = dice.time(1000...6000) }
        case .spread:
            options.isSpread = true
            forSome(2, &dice) { record, _ in if record.form == .protobuf { record.form = .misplaced } }
        case .scattered: forSome(20, &dice) { record, _ in record.shift = 1 }
        case .manyTopics: manifold(&dice)
        case .longHoldUps: add(.holdUp, lasting: 60_000...60_000, &dice)
        case .blockingCalls: options.blockingCalls = dice.time(200...4000)
        case .brokenKeys: add(.redisBroken(token: dice.pick(0...World.plainTokenCount - 1)), lasting: 0...0, &dice)
        case .withoutRedis: options.sendsWithoutRedis = true
        case .dedupe: remember(&dice)
        case .windows:
            options.coalescingWindow = dice.time(500...4000)
            options.coalescingKeys = max(1, options.coalescingKeys)
            forSome(30, &dice) { record, _ in record.coalescingKey = max(1, record.coalescingKey) }
        case .forGood: options.isForGood = true
        case .tightMemory: tighten(&dice)
        case .deferredCommits: deferCommits(&dice)
        case .certificates: loseCertificate(&dice)
        case .filter: followTombstones(&dice)
        case .farLaggards:
            let records = dice.chance(50) ? 10_000 : Int64(dice.pick(0...30))
            options.near = Near(records: records, bytes: dice.pick(0...5000))
        case .streams: chooseStreams(&dice)
        case .fewNames: nameFew(&dice)
        case .otherSicknesses: sickenOtherwise(&dice)
        case .failingCalls:
            add(.commitsThrow, lasting: 200...4000, &dice)
            if dice.chance(50) { failAssignment(&dice) }
        case .reports: forSome(40, &dice) { record, dice in record.report = dice.chance(80) ? .summary : .all }
        case .replacedCertificates: replaceCertificates(&dice)
        case .badges:
            options.hasBadges = true
            forSome(50, &dice) { record, _ in record.addsToBadge = !record.isRefused }
        case .headers: addHeaders(&dice)
        case .refusedContents: refuseContents(&dice)
        case .farewells: for _ in 0..<dice.pick(1...4) { add(.farewell, lasting: 0...0, &dice) }
        case .suspensions:
            for _ in 0..<dice.pick(1...2) {
                add(.suspension, lasting: dice.chance(50) ? 1000...5000 : 6000...30_000, &dice)
            }
        case .skewedClocks:
            let seconds = dice.pick(2000...90_000) * (dice.chance(50) ? 1 : -1)
            add(
                dice.chance(50) ? .clockJump(seconds: seconds) : .redisClockJump(seconds: seconds),
                lasting: 0...0,
                &dice
            )
        case .expiredCommits: add(.commitsExpire, lasting: 12_000...20_000, &dice)
        case .differentOwners: differ(&dice)
        case .littleRoom:
            guard !options.isIsolated else { return }
            options.producerRoom = dice.pick(1...30)
            options.publicationUnits = dice.pick(1...20)
            options.answersApart = dice.chance(70)
        case .refusedPublications: refusePublications(&dice)
        case .cutLogs: cutLog(&dice)
        case .disallowedTopics: disallowTopics(&dice)
        case .levers: for _ in 0..<dice.pick(1...4) { pullLever(&dice) }
        case .lanes: chooseLanes(&dice)
        case .quota: chooseQuotas(&dice)
        case .warmth: chooseWarmth(&dice)
        default: break
        }
    }

    private mutating func addHeaders(_ dice: inout Dice) {
        forSome(40, &dice) { record, dice in
            record.headerBytes = dice.pick(1...4000)
            let isPlain = record.form == .protobuf && record.badTokens == 0 && record.poison.isEmpty
            guard isPlain, record.request == nil, record.report == nil, dice.chance(10) else { return }
            record.form = .overheaded
            record.headerBytes = dice.pick(RecordHeaders.limitBytes...20_000)
            record.tokens = [record.tokens[0]]
            record.coalescingKey = 0
            record.expires = 0
            record.addsToBadge = false
        }
    }

    /// Workers differ from each other, and are killed while the broker takes none of their dead letters.
    private mutating func differ(_ dice: inout Dice) {
        guard !options.isIsolated, options.sick.isEmpty else { return }
        options.hasDifferentOwners = true
        // Records name their environment where there are two.
        if options.streams.isEmpty { chooseStreams(&dice) }
        forSome(10, &dice) { record, dice in
            if record.form == .protobuf { record.form = dice.chance(60) ? .json : .withoutCertificate }
        }
        // Records of bundles that never get a certificate have to end.
        options.certificateGrace = min(options.certificateGrace, .seconds(5))
        // An owner that cannot decode a record does not know its tokens, and counts it as one notification.
        for index in records.indices where records[index].form == .json {
            records[index].tokens = [records[index].tokens[0]]
            records[index].badTokens = 0
        }
        for _ in 0..<dice.pick(1...3) {
            add(.acknowledgementsLate, lasting: 2000...4000, &dice)
            guard let late = faults.last else { return }
            let delay = dice.time(700...2000)
            faults.append(
                Fault(.crash, at: late.time + delay, lasting: dice.time(50...3000), worker: late.worker)
            )
        }
    }

    private mutating func refusePublications(_ dice: inout Dice) {
        guard !options.isIsolated else { return }
        if dice.chance(60) { options.largestPublication = dice.pick(2500...6000) }
        for _ in 0..<dice.pick(1...3) {
            add(.publishingRefused(isUnknown: dice.chance(50)), lasting: 500...40_000, &dice)
        }
    }

    private mutating func cutLog(_ dice: inout Dice) {
        let isExcusedOtherwise = faults.contains { fault in
            switch fault.kind {
            case .retention, .offsetsSet, .commitsExpire: true
            default: false
            }
        }
        // Numbers of tokens are counted by offsets, which mean two records now.
        guard !options.isIsolated, !options.hasBadges, !isExcusedOtherwise else { return }
        add(.logCut(records: dice.pick(1...5), hasEpochs: dice.chance(50)), lasting: 0...1500, &dice)
    }

    mutating func pullLever(_ dice: inout Dice) {
        switch dice.pick(0...2) {
        case 0: add(.paused, lasting: 200...9000, &dice)
        case 1: add(.paced(perSecond: UInt32(dice.pick(2...200))), lasting: 200...9000, &dice)
        default: add(.discarded(age: Int64(dice.pick(0...2000))), lasting: 0...0, &dice)
        }
    }

    /// Changes so many records of a hundred, one at least.
    private mutating func forSome(_ percent: Int, _ dice: inout Dice, _ body: (inout Record, inout Dice) -> Void) {
        let one = dice.pick(0...records.count - 1)
        for index in records.indices where dice.chance(percent) || index == one { body(&records[index], &dice) }
    }

    private mutating func makeSick(_ dice: inout Dice) {
        let count = options.topics < 6 ? 1 : dice.pick(1...options.topics / 2)
        for _ in 0..<count {
            let topic = dice.pick(0...options.topics - 1)
            let kind = Sickness.Kind.first[dice.pick(0...Sickness.Kind.first.count - 1)]
            let from = dice.chance(50) ? VirtualTime(0) : dice.time(0...2000)
            guard !options.sick.contains(where: { $0.topic == topic }) else { continue }
            options.sick.append(Sickness(topic: topic, kind: kind, from: from))
        }
        guard dice.chance(40) else { return }
        // A healthy topic comes late: its first record lies behind the backlog of a sick one.
        let isSick = Set(options.sick.map(\.topic))
        guard let late = (0..<options.topics).first(where: { !isSick.contains($0) }) else { return }
        for index in records.indices where records[index].topic == late && records[index].time < end / 2 {
            guard records[index].tokens.count <= Self.tokensPerKey else { continue }
            records[index].topic = options.sick[0].topic
        }
    }

    private mutating func isolate(_ dice: inout Dice) {
        if options.sick.isEmpty { makeSick(&dice) }
        faults = []
        options.isIsolated = true
        options.connectionsPerMinute = 60
    }

    /// A few records of hundreds of tokens.
    private mutating func enlarge(_ dice: inout Dice) {
        for _ in 0..<dice.pick(1...2) {
            let index = dice.pick(0...records.count - 1)
            guard !records[index].isRefused else { continue }
            // An owner that cannot decode a record counts it as one notification.
            guard !options.hasDifferentOwners || records[index].form != .json else { continue }
            records[index].topic = dice.pick(0...WorldPlan.plainTopics - 1)
            records[index].key = 0
            records[index].tokens = Array(0..<World.tokensOfLargeKey)
        }
    }

    /// Few records whose content is refused, one of them of hundreds of tokens.
    private mutating func refuseContents(_ dice: inout Dice) {
        let statuses: [APNsStatus] = [.unknown, .protocolError, .invalidPayloadSize, .missingPayload]
        enlarge(&dice)
        let large = records.indices.filter { records[$0].tokens.count > Self.tokensPerKey }
        for index in large.prefix(1) + [dice.pick(0...records.count - 1)] {
            records[index].refusal = statuses[dice.pick(0...statuses.count - 1)]
        }
    }

    /// More topics, and metadata that not all of them fit into.
    private mutating func manifold(_ dice: inout Dice) {
        options.topics = dice.pick(4...Self.mostTopics)
        options.metadataBytes = dice.pick(200...260)
        for index in records.indices where records[index].tokens.count <= Self.tokensPerKey {
            records[index].topic = dice.pick(0...options.topics - 1)
        }
        if dice.chance(50) { makeSick(&dice) }
    }

    /// Little room. Topics that do not work share a quarter of it for the records that they are probed with: it is
    /// enough for most, because one that waits for its turn could wait longer than the world lasts.
    private mutating func tighten(_ dice: inout Dice) {
        let largest = records.lazy.map(\.tokens.count).max() ?? 0
        let room = largest > Self.tokensPerKey ? 400_000 : 10_000 * options.sick.count
        options.memoryBytes = dice.pick(20_000...60_000) + room
    }

    /// Commits that arrive late, mostly after the group has gone through a rebalance, or their worker has gone.
    private mutating func deferCommits(_ dice: inout Dice) {
        add(.commitsDeferred(isInClient: dice.chance(50)), lasting: 1000...9000, &dice)
        guard let late = faults.last, dice.chance(80) else { return }
        let moment = late.time + VirtualTime(dice.pick(0...Int(late.lasting / 2000))) * 1000
        let kind: Fault.Kind = dice.chance(50) ? .rebalance : .crash
        let worker = late.worker + dice.pick(0...1)
        faults.append(Fault(kind, at: moment, lasting: dice.time(50...3000), worker: worker))
    }

    /// A certificate that is not there at first, or goes. Processes that have it keep it, those that start do not get
    /// it. It comes before or after its records become dead letters, if they ever do.
    private mutating func loseCertificate(_ dice: inout Dice) {
        let from = dice.chance(60) ? 0 : dice.time(500...4000)
        let gap = CertificateGap(
            topic: dice.pick(0...options.topics - 1),
            from: from,
            lasting: dice.time(1000...12_000)
        )
        options.certificateGaps = [gap]
        options.hasRegistrations = dice.chance(30)
        // Nothing else ends the records of a bundle that never has a certificate.
        let mustEnd = records.contains { $0.form == .withoutCertificate }
        let grace = dice.time(1000...5000)
        options.certificateGrace = mustEnd || dice.chance(50) ? grace : .seconds(3600)
        guard from > 0 else { return }
        let moment = from + VirtualTime(dice.pick(0...Int(gap.lasting / 2000))) * 1000
        faults.append(Fault(.crash, at: moment, lasting: dice.time(50...1000), worker: dice.pick(0...7)))
    }

    /// Workers take each certificate about a second after it came.
    private mutating func replaceCertificates(_ dice: inout Dice) {
        guard !options.isIsolated else { return }
        for _ in 0..<dice.pick(1...5) {
            if dice.chance(50) {
                add(.certificateReplaced, lasting: 0...0, &dice)
            } else {
                add(.certificateReplaced, lasting: 500...9000, &dice)
            }
        }
    }

    private mutating func followTombstones(_ dice: inout Dice) {
        options.filterMaxAge = dice.time(500...5000)
        options.invalidTokens = max(options.invalidTokens, dice.pick(2...8))
        for _ in 0..<dice.pick(1...3) { add(.registrations, lasting: 0...0, &dice) }
        if dice.chance(50) { add(.tombstonesAway, lasting: 500...9000, &dice) }
    }

    /// Requests are remembered, and some are published twice.
    private mutating func remember(_ dice: inout Dice) {
        options.dedupeWindow = .seconds(3000)
        for index in records.indices.dropFirst(20) where dice.chance(8) {
            let first = index - dice.pick(1...20)
            guard records[first].request == nil else { continue }
            records[first].request = first
            var record = records[first]
            record.time = records[index].time
            record.poison = []
            records[index] = record
        }
    }
}
