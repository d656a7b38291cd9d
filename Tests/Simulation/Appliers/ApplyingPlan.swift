/// Everything about a world of appliers that the seed decides beforehand. A plan can be cut down, to see what of it a
/// failure needs.
struct ApplyingPlan: Sendable, Equatable {
    /// The make of a world.
    struct Options: Sendable, Equatable {
        /// Of each Kafka topic.
        var partitions: Int32
        /// Processes that apply push.registrations and keep push.tombstones. They come first among the slots.
        var registrars: Int
        /// Processes that apply push.feedback.
        var harvesters: Int
        var isCooperative: Bool
        /// A process that comes back within the session takes its former place in its groups.
        var isStatic: Bool
        /// A worker's filter of dead tokens follows push.tombstones.
        var hasFollower: Bool
        /// Changes applied lately are applied again after a fail-over of Redis. Without, there is none.
        var replays: Bool
        var tokens: Int
        /// Tokens whose changes Redis refuses for good.
        var refused: Set<Int>

        var processes: Int { registrars + harvesters }

        /// The slots of processes that apply a Kafka topic.
        func slots(of source: ApplyingSource) -> Range<Int> {
            source == .feedback ? registrars..<processes : 0..<registrars
        }

        /// The Kafka topics that the process of a slot applies.
        func sources(of slot: Int) -> [ApplyingSource] {
            ApplyingSource.allCases.filter { slots(of: $0).contains(slot) }
        }

        /// The Kafka topics that have an applier.
        var sources: [ApplyingSource] { ApplyingSource.allCases.filter { !slots(of: $0).isEmpty } }
    }

    var seed: UInt64
    var options: Options
    /// Ascending by time.
    var records: [ApplyingRecord]
    /// Ascending by time.
    var faults: [ApplyingFault]
    /// The process whose member hears of that assignment, revocation or answer to a commit is told to stop just then,
    /// and comes back; counted over all members, from 1 on. Nil: none is.
    var stopsAtReport: Int?

    static let mostTokens = 30
    /// Records are published for this long.
    private static let publishing = VirtualTime.seconds(100)

    init(seed: UInt64) {
        self.seed = seed
        var dice = Dice(seed: seed, stream: 77)
        let tokens = dice.pick(6...Self.mostTokens)
        let options = Options(
            partitions: Int32(dice.pick(1...3)),
            registrars: dice.pick(1...3),
            harvesters: dice.pick(0...3),
            isCooperative: dice.chance(40),
            isStatic: dice.chance(30),
            hasFollower: dice.chance(25),
            replays: dice.chance(70),
            tokens: tokens,
            refused: Set((0..<tokens).filter { _ in dice.chance(6) })
        )
        self.options = options
        records = (0..<dice.pick(50...300)).map { _ in
            ApplyingRecord(in: Self.publishing, options, &dice)
        }.sorted { $0.time < $1.time }
        var faults = (0..<dice.pick(3...10)).map { _ in ApplyingFault(options, &dice) }
        if dice.chance(40) { faults.append(ApplyingFault(silenceIn: &dice)) }
        self.faults = faults.sorted { $0.time < $1.time }
    }

    /// Records may be deleted before they are applied, or looked after.
    var hasRetention: Bool {
        faults.contains { fault in
            if case .retention = fault.kind { true } else { false }
        }
    }

    /// The world's age when the last record is published and the last fault is over.
    var calm: VirtualTime {
        max(records.last?.time ?? 0, faults.map(\.end).max() ?? 0)
    }
}
