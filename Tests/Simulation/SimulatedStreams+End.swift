@testable import Sender

/// The ends of a connection: by the client, by the service, or in the network.
extension SimulatedStreams {
    /// A router in between has forgotten the connection.
    func loseTouch() {
        isVoid = true
        held = [:]
    }

    /// The network or a host in between ends the connection: a part of what the gateway has is accepted, as is a part
    /// of what is on its way.
    func cut() {
        guard !isOver, !isVoid else { return }
        if stall == 0 {
            for (frames, _) in onTheWay.prefix(world.dice.pick(0...onTheWay.count)) {
                for case .request(let request) in frames where request.stream <= lastTaken ?? .max {
                    held[request.stream] = request
                }
            }
        }
        for stream in held.keys.sorted() where world.dice.chance(50) {
            guard let request = held[stream] else { continue }
            let fate = gateway(of: request).fate(record: request.record, token: request.token, edition: edition)
            if case .accepted = fate { accept(request) }
        }
        held = [:]
        onTheWay = []
        isOver = true
        end(world.dice.chance(50) ? SimulatedFailure(reason: "reset") : nil, after: world.dice.time(0...40))
    }

    /// The worker is told that the connection has ended, after what it has not read.
    func end(_ error: (any Error)?, after delay: VirtualTime) {
        loop.deliver(after: delay) { [self] in
            guard !isAbandoned, !isVoid else { return }
            if error == nil, !incoming.isEmpty { read() }
            guard !isAbandoned else { return }
            abandon()
            let reason = error.map { "\($0)" } ?? "end of stream"
            world.note(.disconnected, worker.number, gateways[0].topic, "\(worker.name) lost \(number): \(reason)")
            // The end of a connection that takes no more is no failure.
            if owner.pool.connection(number)?.phase == .open { world.auditor.failed(owner) }
            owner.connectionEnded(attempt: Int(number), error: error)
        }
    }
}
