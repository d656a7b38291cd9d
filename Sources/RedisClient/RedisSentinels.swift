/// The sentinels that tell which server is the master at the moment.
public struct RedisSentinels: Sendable {
    /// The master's name among them.
    public var master: String
    /// One for each sentinel, at least one; their endpoints have the login of the sentinels. A sentinel that has not
    /// answered by the time-outs of its configuration is passed over.
    public var connections: [RedisConnection.Configuration]

    public init(master: String, connections: [RedisConnection.Configuration]) {
        precondition(!connections.isEmpty, "there is a sentinel to ask")
        self.master = master
        self.connections = connections
    }
}
