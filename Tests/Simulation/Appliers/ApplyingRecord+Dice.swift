// Chooses records.
extension ApplyingRecord {
    /// A record of any Kafka topic.
    ///
    /// - Parameter time: it is published before this time of the world.
    init(in time: VirtualTime, _ options: ApplyingPlan.Options, _ dice: inout Dice) {
        let roll = dice.pick(0...99)
        let source: ApplyingSource = roll < 60 ? .registrations : roll < 85 ? .feedback : .tombstones
        self.init(
            options.sources.contains(source) ? source : .registrations,
            Int32(dice.pick(0...Int(options.partitions) - 1)),
            options,
            &dice
        )
        self.time = dice.time(0...Int(time / .milliseconds(1)))
    }

    /// A record of a partition, published at the beginning of the world.
    init(
        _ source: ApplyingSource,
        _ partition: Int32,
        _ options: ApplyingPlan.Options,
        _ dice: inout Dice
    ) {
        self.init(
            time: 0,
            source: source,
            partition: partition,
            content: dice.chance(5) ? .unreadable : .init(of: source, options, &dice),
            at: dice.pick(0...Self.times - 1)
        )
    }
}

extension ApplyingRecord.Content {
    fileprivate init(of source: ApplyingSource, _ options: ApplyingPlan.Options, _ dice: inout Dice) {
        let token = dice.pick(0...options.tokens - 1)
        let texts = dice.pick(0...ApplyingRecord.descriptions - 1)
        switch (source, dice.pick(0...9)) {
        case (.feedback, _): self = .feedback(token: token)
        case (.tombstones, _): self = .invalid(token: token)
        case (.registrations, 0...1): self = .unregister(token: token)
        case (.registrations, 2...4): self = .describe(token: token, texts: texts)
        case (.registrations, 5...6):
            self = .register(token: token, replaced: dice.pick(0...options.tokens - 1), texts: texts)
        case (.registrations, _): self = .register(token: token, replaced: nil, texts: texts)
        }
    }
}
