import RequestLanes

/// Requests in several lanes, the workers that serve them, and levers of single lanes.
extension WorldPlan {
    /// Bundles are published to in two lanes or all three, with the same tokens and, now and then, the same requests.
    mutating func chooseLanes(_ dice: inout Dice) {
        // Times are bounded there for one lane alone, and former versions know no lanes.
        guard !options.isIsolated, !options.hasDifferentOwners else { return }
        var lanes = RequestLane.allCases
        if dice.chance(40) { lanes.remove(at: dice.pick(0...lanes.count - 1)) }
        options.requestLanes = lanes
        serve(lanes, &dice)
        // A lane has a quarter of it at least.
        options.memoryBytes *= 4
        shareFeatures(&dice)
        for index in records.indices { records[index].lane = lanes[dice.pick(0...lanes.count - 1)] }
        if dice.chance(50), calm(&dice) { return }
        guard dice.chance(70) else { return }
        for _ in 0..<dice.pick(1...3) {
            pullLever(&dice)
            if dice.chance(70) { faults[faults.count - 1].lane = lanes[dice.pick(0...lanes.count - 1)] }
        }
    }

    /// Some workers serve all lanes, some only one. Each lane has a worker, which may be the only one of it.
    private mutating func serve(_ lanes: [RequestLane], _ dice: inout Dice) {
        var served: [[RequestLane]] = []
        for _ in 0..<options.workers {
            served.append(dice.chance(50) ? lanes : [lanes[dice.pick(0...lanes.count - 1)]])
        }
        for lane in lanes where !served.contains(where: { $0.contains(lane) }) {
            let slot = dice.pick(0...served.count - 1)
            let former = served[slot]
            served[slot] = lanes.filter { $0 == lane || former.contains($0) }
        }
        options.servedLanes = served
    }

    /// Features that mean something else where there are lanes come more often.
    private mutating func shareFeatures(_ dice: inout Dice) {
        let isCut = faults.contains { if case .logCut = $0.kind { true } else { false } }
        if dice.chance(50), options.dedupeWindow == 0, records.allSatisfy({ $0.badTokens == 0 }) { add(.dedupe, &dice) }
        if dice.chance(25), !options.hasBadges, !isCut { add(.badges, &dice) }
        if dice.chance(25), records.allSatisfy({ $0.expires == 0 }) { add(.expirations, &dice) }
    }

    // MARK: Urgent requests beside many others

    /// Nothing troubles an app, nor holds urgent requests up, while the last lane has more than can be sent at once.
    /// It may be paused, and a worker killed.
    ///
    /// - Returns: false: something else of the world does.
    private mutating func calm(_ dice: inout Dice) -> Bool {
        guard let last = options.requestLanes.last, options.requestLanes.first == .urgent, isUntroubled else {
            return false
        }
        options.isCalm = true
        options.invalidTokens = 0
        options.inFlight = 100
        options.maxUncommitted = 300
        options.connectionMaxAge = 0
        options.mostStreams = max(options.mostStreams, Self.calmStreams)
        faults = []
        if dice.chance(50) {
            add(.paused, lasting: 2000...9000, &dice)
            faults[faults.count - 1].lane = options.requestLanes[dice.pick(1...options.requestLanes.count - 1)]
        }
        if dice.chance(40) { add(.crash, lasting: 50...3000, &dice) }
        pile(last)
        return true
    }

    /// Streams of a connection that do not hold up the few urgent requests of a world.
    static let calmStreams = 100
    private static let mostCalmTokens = 500

    /// No feature slows workers down, or lets a gateway refuse something.
    private var isUntroubled: Bool {
        let plain = Options()
        let isSlow =
            options.blockingCalls > 0 || options.memoryBytes > 0 || options.receiveBuffer > 0 || options.near != nil
            || options.producerRoom != plain.producerRoom || options.largestPublication > 0
        let isSound = records.allSatisfy { $0.poison.isEmpty && $0.refusal == nil && $0.badTokens == 0 }
        // More of them would wait for each other.
        let urgent = records.lazy.filter { $0.lane == .urgent }.reduce(0) { $0 + $1.tokens.count }
        return options.sick.isEmpty && options.certificateGaps.isEmpty && !isSlow && isSound
            && urgent <= Self.mostCalmTokens
    }

    /// All requests of a lane come at the beginning, to many tokens each.
    private mutating func pile(_ lane: RequestLane) {
        var isLarge: Set<Int> = []
        for index in records.indices where records[index].lane == lane && records[index].request == nil {
            guard records[index].form == .protobuf || records[index].form == .json else { continue }
            records[index].time = .milliseconds(100)
            if records[index].topic < Self.plainTopics, isLarge.insert(records[index].topic).inserted {
                records[index].key = 0
                records[index].tokens = Array(0..<World.tokensOfLargeKey)
            } else {
                records[index].tokens = Array(0..<Self.tokensPerKey)
            }
        }
        records = records.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }
}

extension WorldPlan.Options {
    /// The lanes that a worker serves, by its place among all.
    func lanesServed(bySlot slot: Int) -> [RequestLane] { servedLanes[slot % servedLanes.count] }
}
