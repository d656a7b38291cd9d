import NIOCore

extension RedisConnection.Configuration {
    /// The commands that open a connection; a server that has to be a master is asked for its role, too.
    var handshake: [RedisHandshake.Step] {
        var steps: [RedisHandshake.Step] = []
        if endpoint.password != nil { steps.append(.authenticate) }
        if endpoint.database != 0 { steps.append(.select) }
        if clientName != nil { steps.append(.setName) }
        return steps + [.ping]
    }

    func encoded(_ steps: [RedisHandshake.Step]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for step in steps {
            var writer = RedisCommandWriter(buffer: buffer.takeBytes())
            switch step {
            case .authenticate:
                writer.command("AUTH", argumentCount: endpoint.user == nil ? 1 : 2)
                if let user = endpoint.user { writer.argument(user) }
                writer.argument(endpoint.password ?? "")
            case .select:
                writer.command("SELECT", argumentCount: 1)
                writer.argument(endpoint.database)
            case .setName:
                writer.command("CLIENT", argumentCount: 2)
                writer.argument("SETNAME")
                writer.argument(clientName ?? "")
            case .role:
                writer.roleQuestion()
            case .ping:
                writer.command("PING", argumentCount: 0)
            }
            buffer = writer.finish()
        }
        return buffer
    }

    func name(of step: RedisHandshake.Step) -> String {
        switch step {
        case .authenticate: "the login"
        case .select: "database \(endpoint.database)"
        case .setName: "the client's name"
        case .role: "to tell its role"
        case .ping: "to serve"
        }
    }
}

extension RedisCommandWriter {
    /// Asks for the server's role. INFO, not ROLE: the roles' users have the right to it for other questions.
    mutating func roleQuestion() {
        command("INFO", argumentCount: 1)
        argument("replication")
    }
}

extension RedisReply {
    /// An answer to INFO that calls the server a replica.
    ///
    /// Source: Redis documentation, INFO, "replication".
    var tellsReplica: Bool {
        string?.split(whereSeparator: \.isNewline).contains("role:slave") ?? false
    }
}

extension ByteBuffer {
    /// Moves the buffer out and leaves an empty one, which costs no allocation.
    mutating func takeBytes() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&self, &taken)
        return taken
    }
}
