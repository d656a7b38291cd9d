/// Decides which sentinel is asked for the master, and when none can tell. Pure.
///
/// A search asks the sentinels in turn, each once, until one names a server. The next search goes on behind that one:
/// its server could not be reached, was lost or is no master, so another sentinel may know more.
///
/// Source: Redis documentation, "Guidelines for Redis clients with support for Redis Sentinel".
struct SentinelSearch {
    enum Step: Equatable {
        /// Ask the sentinel at this position.
        case ask(Int)
        case found(RedisAddress)
        /// All were asked in vain.
        case failed(SentinelSilence)
    }

    private let master: String
    private let sentinels: [RedisAddress]
    /// The position of the sentinel that is asked next.
    private var next = 0
    /// Of this search: one for each sentinel that was asked in vain.
    private var problems: [String] = []
    /// Of this search: answers of sentinels that did not accept the login.
    private var refusals: [RedisError] = []

    init(master: String, sentinels: [RedisAddress]) {
        precondition(!sentinels.isEmpty, "there is a sentinel to ask")
        self.master = master
        self.sentinels = sentinels
    }

    mutating func begin() -> Step {
        problems = []
        refusals = []
        return ask()
    }

    /// Takes the answer of the sentinel that was asked last.
    mutating func answered(_ answer: SentinelAnswer) -> Step {
        switch answer {
        case .server(let server): return .found(server)
        case .nothing(let reason, let refusal):
            if let refusal { refusals.append(refusal) }
            let asked = (next + sentinels.count - 1) % sentinels.count
            problems.append("\(sentinels[asked]): \(reason)")
            return problems.count < sentinels.count ? ask() : .failed(silence)
        }
    }

    private mutating func ask() -> Step {
        defer { next = (next + 1) % sentinels.count }
        return .ask(next)
    }

    private var silence: SentinelSilence {
        SentinelSilence(
            reason: "no sentinel tells the address of the master \"\(master)\": \(problems.joined(separator: "; "))",
            // While one of them may yet answer, waiting helps.
            refusal: refusals.count == sentinels.count ? refusals[0] : nil
        )
    }
}

/// No sentinel has told the address of the master.
struct SentinelSilence: Error, Equatable {
    /// Names each sentinel with its problem.
    let reason: String
    /// The first one's answer to the login, if none of them accepts it.
    let refusal: RedisError?
}

/// A sentinel's answer to the question for the master.
enum SentinelAnswer: Equatable {
    case server(RedisAddress)
    /// It names none, for this reason.
    ///
    /// - Parameter refusal: its answer to the login, if it does not accept that.
    case nothing(String, refusal: RedisError? = nil)

    /// - Parameter loss: of the connection to the sentinel, or the attempt to make one.
    init(_ loss: RedisDisconnection) {
        self = .nothing(loss.reason, refusal: loss.isAuthenticationFailure ? loss.refusal : nil)
    }

    /// - Parameter result: of `SENTINEL get-master-addr-by-name`: an array of host and port, null for an unknown name.
    ///
    /// Source: Redis documentation, "High availability with Redis Sentinel", "Sentinel commands".
    init(_ result: Result<RedisReply, RedisError>) {
        switch result {
        case .success(let reply) where reply.isNull:
            self = .nothing("it watches over no master of that name")
        case .success(let reply):
            guard reply.count == 2, let host = reply[0].string, !host.isEmpty,
                let port = reply[1].string.flatMap({ Int($0) }), (1...65_535).contains(port)
            else {
                self = .nothing("its answer is no address")
                return
            }
            self = .server(RedisAddress(host: host, port: port))
        case .failure(.server("ERR", let message)) where message.hasPrefix("unknown command"):
            self = .nothing("it is no sentinel")
        case .failure(let error):
            self = .nothing("\(error)")
        }
    }
}
