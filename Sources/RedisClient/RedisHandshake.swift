/// The commands that open a connection, sent together, and the meaning of their replies, which come before any other.
/// Pure.
struct RedisHandshake {
    enum Step: Sendable, Equatable {
        case authenticate
        case select
        case setName
        /// Asked of a server that has to be a master: INFO tells.
        case role
        /// The last step: only a server that answers it serves commands (it refuses while loading, or without a login).
        case ping

        /// An access list may well forbid the command: the name is only for people, and a replica that is not asked for
        /// its role refuses to write.
        fileprivate var isOptional: Bool { self == .setName || self == .role }
    }

    /// The consequence of a reply.
    enum Progress {
        /// More replies are to come.
        case more
        /// The reply tells the server's role; if it is a master, ``toldMaster()`` says so.
        case role
        /// Commands may flow.
        case done
        case refused(Step, RedisError)
    }

    private let steps: [Step]
    private var position = 0
    /// The server has told that it is a master.
    private(set) var isOfMaster = false

    init(_ steps: [Step]) {
        self.steps = steps
    }

    mutating func replied(error: RedisError?) -> Progress {
        let step = steps[position]
        // The first answer may concern the connection instead of the command.
        if let error, !step.isOptional || error.isAboutTooManyClients { return .refused(step, error) }
        return step == .role && error == nil ? .role : passed()
    }

    mutating func toldMaster() -> Progress {
        isOfMaster = true
        return passed()
    }

    private mutating func passed() -> Progress {
        position += 1
        return position < steps.count ? .more : .done
    }
}
