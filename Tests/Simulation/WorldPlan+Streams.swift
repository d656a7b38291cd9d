/// Topics over HTTP/2, and the troubles that only they have.
extension WorldPlan {
    /// Some topics or all of them go over HTTP/2.
    mutating func chooseStreams(_ dice: inout Dice) {
        let isWhole = dice.chance(40)
        let one = dice.pick(0...options.topics - 1)
        options.streams = (0..<options.topics).filter { topic in isWhole || topic == one || dice.chance(50) }
        shape(&dice)
    }

    /// All topics go over HTTP/2, with dice of their own: the rest of the world is the same.
    mutating func goOverStreams() {
        guard options.streams.count < options.topics else { return }
        var dice = Dice(seed: seed, stream: 3)
        let isNew = options.streams.isEmpty
        options.streams = Array(0..<options.topics)
        if isNew {
            shape(&dice)
            faults.sort { $0.time < $1.time }
        } else {
            chooseKeyed(&dice)
        }
    }

    private mutating func shape(_ dice: inout Dice) {
        options.requestTimeout = dice.time(1500...5000)
        options.mostStreams = dice.chance(30) ? dice.pick(1...8) : dice.pick(20...200)
        chooseKeyed(&dice)
        if options.isCalm { options.mostStreams = max(options.mostStreams, Self.calmStreams) }
        guard !options.isIsolated, !options.isCalm else { return }
        for _ in 0..<dice.pick(1...4) { addStreamFault(&dice) }
    }

    /// Topics of one provider key share connections, so that none of them can be sick alone, and a key does not come
    /// and go as certificates do.
    private mutating func chooseKeyed(_ dice: inout Dice) {
        options.keyed = []
        guard dice.chance(50) else { return }
        // Nor is one whose troubles nothing else of the world is to meet. There is one already where all topics are to
        // go over HTTP/2 in the end.
        let others = Set(options.sick.map(\.topic) + options.certificateGaps.map(\.topic))
        options.keyed = options.streams.filter { !others.contains($0) && $0 != options.lateTopic }
    }

    /// The service refuses a topic over HTTP/2 for a time, with each request to it.
    mutating func disallowTopics(_ dice: inout Dice) {
        guard !options.isIsolated else { return }
        if options.streams.isEmpty { chooseStreams(&dice) }
        for _ in 0..<dice.pick(1...2) {
            add(.topicDisallowed, lasting: 500...20_000, &dice)
            faults[faults.count - 1].topic = options.streams[dice.pick(0...options.streams.count - 1)]
        }
    }

    private mutating func addStreamFault(_ dice: inout Dice) {
        switch dice.pick(0...8) {
        case 0: add(.streamLimit(dice.pick(0...2)), lasting: 200...6000, &dice)
        case 1: add(.streamsRefused, lasting: 200...3000, &dice)
        case 2: add(.streamsReset, lasting: 50...1500, &dice)
        case 3: add(.mute, lasting: 500...8000, &dice)
        case 4: add(.serviceTrouble(percent: dice.chance(50) ? 100 : dice.pick(5...60)), lasting: 100...6000, &dice)
        case 5: add(.tooManyRequests, lasting: 200...9000, &dice)
        case 6: add(.goAwayWithError, lasting: 0...0, &dice)
        case 7: add(.shutdown, lasting: 0...0, &dice)
        default: add(.cut, lasting: 0...0, &dice)
        }
    }
}

extension WorldPlan.Options {
    func isOverStreams(_ topic: Int) -> Bool { streams.contains(topic) }

    /// The environment of a topic.
    func environment(of topic: Int) -> String { isOverStreams(topic) ? World.streamEnvironment : World.environment }
}
