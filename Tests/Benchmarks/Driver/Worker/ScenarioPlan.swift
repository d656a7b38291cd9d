import Workbench

/// The processes that take part in a scenario of `belfry-bench run worker`, and the size of its rounds.
struct ScenarioPlan {
    /// The scenarios that one plan describes; `languages` compares a worker with itself (``LanguagesScenario``).
    enum Name: String, CaseIterable {
        case single
        case singleLookup = "single-lookup"
        case fanout
        case bundles
        case languages
        case outcomesAll = "outcomes-all"
        case dedupe
    }

    /// The scenarios for the help.
    static let help = HelpTable(
        "Scenarios",
        """
        single: Records of one token, of whom only dead ones are asked of Redis; the floor asks for none.
        single-lookup: Records of one token; every token is asked of Redis, by the floor too.
        fanout: Records of 500 tokens, 8 partitions; the floor is that of single-lookup. bare: the floor without \
        look-ups, which takes the worker's records. sandbox: a worker that sends to the sandbox.
        bundles: Records of one token, of 500 bundles in turns. one_bundle: the same worker with one bundle.
        languages: Records of 500 tokens, twelve localizations beside none; see publish.
        outcomes-all: Records of one token; the worker publishes an outcome for each notification, the floor none.
        dedupe: Records of one token, with ids; the worker looks requests up and remembers them, the floor looks \
        tokens up.
        """
    )

    let name: String
    /// Contenders of the timed rounds. Each round is taken by one after the other.
    var contenders: [ContenderPlan]
    /// Contenders whose allocations are counted.
    var allocating: [ContenderPlan] = []
    /// Contenders whose instructions are counted.
    var executing: [ContenderPlan] = []
    /// In a timed round, unless somebody asks for another number.
    var notifications = 300_000
    /// Counted notifications as a multiple of the number asked for: those of a record of 500 cost less each.
    var countedMultiple = 1
    /// The bounds by which the result is judged.
    var targets: [WorkerTarget] = []

    /// Notifications that the embedded brokers of all contenders can keep.
    var notificationLimit: Int { contenders.map(\.notificationLimit).min() ?? 0 }

    /// Every contender takes the same records, so that one broker serves all.
    var hasOneKindOfRecords: Bool {
        contenders.allSatisfy { $0.records == contenders[0].records }
    }

    /// The worker under test has something to ask Redis for.
    var asksRedis: Bool {
        contenders.contains {
            guard case .worker(let traits) = $0.program else { return false }
            return !traits.hasFilter || traits.remembers
        }
    }

    /// A number of notifications that the records of all contenders can have: a multiple of 500 with records of 500.
    func whole(_ notifications: Int) -> Int {
        let unit = contenders.contains { $0.records == .fanOut } ? RequestRecords.tokensPerRecord : 1
        return max(unit, notifications / unit * unit)
    }

    /// The same with the worker of another program in every timed round.
    func beside(_ program: String?) -> ScenarioPlan {
        guard let program, let worker = contenders.first(where: { $0.role == .worker }) else { return self }
        var plan = self
        var other = worker
        other.role = .beside
        other.belfry = program
        plan.contenders.append(other)
        return plan
    }
}

/// A process that takes part in a scenario, with all that it needs to run.
struct ContenderPlan {
    /// The part that a process has in a scenario; its raw value begins the names of its fields.
    enum Role: String, CaseIterable {
        /// The worker under test.
        case worker
        /// The process that it is measured against.
        case floor
        /// The program in C that takes the worker's own records, where the floor takes others.
        case bare
        /// The worker of another version.
        case beside
        /// A worker like that under test whose gateway is the sandbox.
        case sandbox
        /// A worker like that under test with one bundle.
        case oneBundle = "one_bundle"
        /// A worker like that under test with one shard.
        case oneShard = "one_shard"
    }

    enum Program: Equatable {
        /// The program in C; with look-ups it asks Redis for every token.
        case floor(looksUp: Bool)
        case worker(WorkerTraits)
    }

    enum Records: Equatable {
        /// Of one token each, of one bundle.
        case single(haveIDs: Bool)
        /// Of 500 tokens each.
        case fanOut
        /// Of one token each, of so many bundles in turns.
        case bundles(Int)
    }

    var role: Role
    var program: Program
    var records = Records.single(haveIDs: false)
    /// It sends to the sandbox, else to the sink, which reads and throws away.
    var sendsToSandbox = false
    /// Of the Kafka topics.
    var partitions = 32
    /// Dead tokens that nobody sends to, for the filter.
    var tombstones = 0
    /// The executable of a worker; nil: the one under test.
    var belfry: String?

    /// A third of what the embedded broker keeps of a partition (5 MiB) and drops silently beyond, so that keys may
    /// spread unevenly; half of it with records of one token, whose keys are more.
    var notificationLimit: Int { partitions * (records == .fanOut ? 50_000 : 13_000) }
}

/// In what a worker's configuration differs from the defaults.
struct WorkerTraits: Equatable {
    var shards = 2
    /// Only dead tokens are asked of Redis; else all are.
    var hasFilter = true
    var hasTokenState = true
    /// Requests are remembered by their ids.
    var remembers = false
    /// Outcomes that are published.
    var outcomes = "failures"
}

// MARK: the catalogue

extension ScenarioPlan {
    /// The plan of a scenario; nil for `languages`.
    ///
    /// - Parameter partitions: of topics that hold records of one token.
    init?(_ name: Name, partitions: Int = 32) {
        func floor(looksUp: Bool, haveIDs: Bool = false) -> ContenderPlan {
            ContenderPlan(
                role: .floor,
                program: .floor(looksUp: looksUp),
                records: .single(haveIDs: haveIDs),
                partitions: partitions
            )
        }
        func worker(
            _ traits: WorkerTraits = WorkerTraits(),
            as role: ContenderPlan.Role = .worker,
            haveIDs: Bool = false
        ) -> ContenderPlan {
            ContenderPlan(
                role: role,
                program: .worker(traits),
                records: .single(haveIDs: haveIDs),
                partitions: partitions
            )
        }
        let contenders: [ContenderPlan]
        switch name {
        case .single: contenders = [worker(), floor(looksUp: false)]
        case .singleLookup: contenders = [worker(WorkerTraits(hasFilter: false)), floor(looksUp: true)]
        case .outcomesAll: contenders = [worker(WorkerTraits(outcomes: "all")), floor(looksUp: false)]
        case .dedupe:
            contenders = [
                worker(WorkerTraits(remembers: true), haveIDs: true), floor(looksUp: true, haveIDs: true),
            ]
        case .fanout:
            self = Self.fanOut(floor: floor(looksUp: true))
            return
        case .bundles:
            self = Self.bundles(500, beside: worker(as: .oneBundle))
            return
        case .languages: return nil
        }
        self.init(
            name: name.rawValue,
            contenders: contenders,
            allocating: contenders,
            executing: name == .single ? contenders + [worker(WorkerTraits(shards: 1), as: .oneShard)] : contenders,
            targets: WorkerTarget.all[name] ?? []
        )
    }

    /// - Parameter floor: takes records of one token.
    private static func fanOut(floor: ContenderPlan) -> ScenarioPlan {
        func taking(_ role: ContenderPlan.Role, _ program: ContenderPlan.Program) -> ContenderPlan {
            ContenderPlan(role: role, program: program, records: .fanOut, partitions: 8)
        }
        let worker = taking(.worker, .worker(WorkerTraits()))
        let bare = taking(.bare, .floor(looksUp: false))
        var sandbox = taking(.sandbox, worker.program)
        sandbox.sendsToSandbox = true
        return ScenarioPlan(
            name: Name.fanout.rawValue,
            contenders: [worker, floor, bare, sandbox],
            allocating: [worker, bare],
            executing: [worker, bare, taking(.oneShard, .worker(WorkerTraits(shards: 1)))],
            notifications: 400_000,
            countedMultiple: 10,
            targets: WorkerTarget.all[.fanout] ?? []
        )
    }

    private static func bundles(_ count: Int, beside one: ContenderPlan) -> ScenarioPlan {
        var worker = one
        worker.role = .worker
        worker.records = .bundles(count)
        return ScenarioPlan(
            name: Name.bundles.rawValue,
            contenders: [worker, one],
            allocating: [worker, one],
            targets: WorkerTarget.all[.bundles] ?? []
        )
    }

    /// The worker with the filter against the same without token state.
    ///
    /// - Parameter tombstones: dead tokens that the filter holds.
    static func filter(tombstones: Int, partitions: Int) -> ScenarioPlan {
        ScenarioPlan(
            name: "filter",
            contenders: [
                ContenderPlan(
                    role: .worker,
                    program: .worker(WorkerTraits()),
                    partitions: partitions,
                    tombstones: tombstones
                ),
                ContenderPlan(
                    role: .floor,
                    program: .worker(WorkerTraits(hasTokenState: false)),
                    partitions: partitions
                ),
            ]
        )
    }
}
