import NIOCore

/// The looks at the role of a single server: one that became a replica still answers questions, and refuses changes
/// alone.
extension RedisCluster {
    /// Looks again after the interval, until the client is closed.
    func watchRole() {
        guard roleTimer == nil, !isClosed else { return }
        roleTimer = eventLoop.assumeIsolated().scheduleTask(in: configuration.roleInterval) {
            self.roleTimer = nil
            self.look()
        }
    }

    private func look() {
        // A new connection asks by itself.
        guard let server = masters.first, server.demandsMaster, server.isReady else { return watchRole() }
        server.send {
            $0.roleQuestion()
        } _: { result in
            switch result {
            case .success(let reply):
                if reply.tellsReplica { server.foundReplica() }
                self.watchRole()
            case .failure(.server):
                // The user has no right to ask, and is told by refused changes alone.
                break
            case .failure:
                self.watchRole()
            }
        }
    }
}
