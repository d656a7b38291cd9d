import BelfrySupport
import NIOCore

@testable import Sender

/// Opens a credential's connections to the simulated gateways of its topics.
final class SimulatedStreamConnector: StreamConnecting {
    let eventLoop: any EventLoop
    private let loop: SimulatedEventLoop
    private let worker: SimulatedWorker
    private let gateways: [SimulatedGateway]
    private let isKeyed: Bool
    private let latestEdition: () -> UInt64

    init(
        loop: SimulatedEventLoop,
        worker: SimulatedWorker,
        gateways: [SimulatedGateway],
        isKeyed: Bool,
        edition: @escaping () -> UInt64
    ) {
        eventLoop = loop
        self.loop = loop
        self.worker = worker
        self.gateways = gateways
        self.isKeyed = isKeyed
        latestEdition = edition
    }

    private var world: World { gateways[0].world }

    var edition: UInt64 { latestEdition() }

    func connect(_ owner: CredentialConnections, number: UInt32) {
        let topic = gateways[0].topic
        if !isKeyed { world.auditor.connectingUnused(worker, to: topic, owner) }
        world.auditor.connecting(worker, of: owner)
        world.note(.connecting, worker.number, topic, "\(worker.name) connects to \(topic) over HTTP/2, \(number)")
        let now = world.clock.now
        if gateways.contains(where: { now < $0.unreachableUntil }) {
            return loop.deliver(after: world.dice.time(1...900)) { [self] in
                fail(owner, number, SimulatedFailure(reason: "unreachable"))
            }
        }
        // A certificate is refused in the handshake, by GOAWAY, or with every answer.
        let edition = edition
        let isRefused = !isKeyed && gateways.contains { $0.refuses(edition: edition) }
        loop.deliver(after: world.dice.time(2...60)) { [self] in
            if isRefused, world.dice.chance(40) { return fail(owner, number, SimulatedFailure.certificate) }
            open(owner, number, edition, isRefused: isRefused && world.dice.chance(50))
        }
    }

    private func open(_ owner: CredentialConnections, _ number: UInt32, _ edition: UInt64, isRefused: Bool) {
        let connection = SimulatedStreams(
            owner: owner,
            number: number,
            gateways: gateways,
            isKeyed: isKeyed,
            edition: edition,
            worker: worker,
            loop: loop
        )
        world.note(.connected, worker.number, gateways[0].topic, "\(worker.name) opened \(number)")
        connection.begin(isRefused: isRefused)
        owner.connectionOpened(number: number, connection: connection)
    }

    private func fail(_ owner: CredentialConnections, _ number: UInt32, _ error: any Error) {
        world.note(.disconnected, worker.number, gateways[0].topic, "\(worker.name) cannot connect: \(error)")
        // An attempt that the credential has dropped is not its failure.
        if owner.isConnecting(Int(number)) { world.auditor.failed(owner) }
        owner.connectionEnded(attempt: Int(number), error: error)
    }

    func placeName(of number: UInt32) -> String { "simulated" }

    func noteFailure() {}
}
