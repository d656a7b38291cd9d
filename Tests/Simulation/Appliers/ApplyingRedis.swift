@testable import RedisClient
@testable import SimulatedServers
@testable import TokenState

/// The Redis of a world of appliers: two masters that share the tokens. No bundle is large enough for a second bucket.
final class ApplyingRedis {
    private unowned let world: ApplyingWorld
    /// By token.
    private(set) var states: [Int: TokenModel] = [:]
    /// The changes that were made at least once, and not lost since.
    private(set) var made: Set<ApplyingChange> = []
    /// The changes that were made at least once.
    private(set) var everMade: Set<ApplyingChange> = []
    /// One more than there were fail-overs.
    private(set) var history = 1
    /// The number of each master's data's history, which is the replication ID: its fail-over begins a new one.
    private var histories = [Int](repeating: 1, count: masters)
    /// Everything that was made and not lost, in order.
    private var journal: [(time: VirtualTime, change: ApplyingChange)] = []
    private(set) var awayUntil: VirtualTime = 0
    /// The master that answers no client, and until when.
    private var silence: (master: Int, until: VirtualTime) = (0, 0)
    private var refusal: (prefix: String, until: VirtualTime) = ("", 0)

    static let masters = 2

    init(world: ApplyingWorld) {
        self.world = world
    }

    /// The master that has a token.
    static func master(of token: Int) -> Int { token / 2 % masters }

    /// The master answers no client.
    func isAway(_ master: Int) -> Bool {
        world.clock.now < (silence.master == master ? max(awayUntil, silence.until) : awayUntil)
    }

    /// Until then some master answers no client.
    var silentUntil: VirtualTime { silence.until }

    /// No other master, and none at another time, has the same.
    func replicationID(of master: Int) -> String { "\(histories[master])-\(master)" }

    /// Makes a change.
    ///
    /// - Returns: the script's answer: the facts about the token, and the number of its bucket's tokens.
    func make(_ change: ApplyingChange) -> Result<[Int64], RedisError> {
        if world.clock.now < refusal.until { return .failure(.server(prefix: refusal.prefix, message: "for now")) }
        guard !world.options.refused.contains(change.token) else { return .failure(Self.lasting(change.token)) }
        guard !change.isQuestion else { return .success(facts(of: change.token, wasRevived: false)) }
        world.auditor.making(change)
        journal.append((world.clock.now, change))
        everMade.insert(change)
        let wasRevived = keep(change)
        world.note(.changed, change.token, Int(change.at), "token \(change.token): \(change.kind) at \(change.at)")
        return .success(facts(of: change.token, wasRevived: wasRevived))
    }

    /// - Returns: true: it took a tombstone away.
    private func keep(_ change: ApplyingChange) -> Bool {
        made.insert(change)
        return states[change.token, default: TokenModel()].make(change)
    }

    private func facts(of token: Int, wasRevived: Bool) -> [Int64] {
        let state = states[token] ?? TokenModel()
        return [Int64(state.registered), Int64(state.tombstoned), Int64(state.reason), wasRevived ? 1 : 0, 1]
    }

    /// The error of a token whose key, or record, Redis cannot take a change to.
    private static func lasting(_ token: Int) -> RedisError {
        token.isMultiple(of: 2)
            ? .server(prefix: "WRONGTYPE", message: "Operation against a key holding the wrong kind of value")
            : .server(prefix: "BELFRY", message: "a token record with flags 255 is not known here")
    }

    // MARK: Faults

    /// Redis answers no client.
    func goAway(for time: VirtualTime) { awayUntil = max(awayUntil, world.clock.now + time) }

    /// One master answers no client. While one does not, no other falls silent.
    func silence(_ master: Int, for time: VirtualTime) {
        guard silence.master == master || silence.until <= world.clock.now else { return }
        silence = (master, max(silence.until, world.clock.now + time))
    }

    /// A replica of a master takes over that lacks what was acknowledged in the last `time`.
    func failOver(_ master: Int, losing time: VirtualTime) {
        history += 1
        histories[master] += 1
        journal.removeAll { Self.master(of: $0.change.token) == master && $0.time + time > world.clock.now }
        states = [:]
        made = []
        for (_, change) in journal { _ = keep(change) }
    }

    /// Every change is refused, for now.
    func refuse(with prefix: String, for time: VirtualTime) {
        refusal = (prefix, max(refusal.until, world.clock.now + time))
    }
}

extension ApplyingChange {
    /// The change that a script is asked for.
    init(_ call: WrittenCommand) {
        // Directory, bucket, number of buckets, field, time, and what is left.
        guard let token = ApplyingRecord.number(of: call.words[3].dropFirst(TokenPlace.hashBytes)),
            let at = call.number(4).flatMap({ UInt32(exactly: $0) }),
            let code = call.number(5).flatMap({ UInt8(exactly: $0) })
        else { preconditionFailure("a call of a script that the simulated Redis does not know") }
        switch call.script?.digest {
        case TokenScripts.register.digest:
            self.init(token: token, kind: .register, at: at, code: code, texts: call.words[6])
        case TokenScripts.describe.digest:
            self.init(token: token, kind: .describe, at: at, code: code, texts: call.words[6])
        case TokenScripts.tombstone.digest: self.init(token: token, kind: .tombstone, at: at, code: code)
        default: preconditionFailure("a script that the simulated Redis does not know")
        }
    }
}
