import BelfrySupport
import NIOCore
import NIOPosix
import PageParts
import PipelineCore

/// Looks at the fleet once a second: asks its processes, hands the answers to ``Fleet``, and tells the pages.
///
/// Belongs to the console's event loop.
final class FleetWatch {
    let hub = ConsoleHub()
    private let eventLoop: any EventLoop
    private let route: StatusRequest.Route
    private var targets: TargetList
    private var fleet = Fleet()
    private var turn = ScrapeTurn()
    private var timer: RepeatingTimer?

    /// To be made on the loop.
    init(_ targets: [ScrapeTarget], route: StatusRequest.Route, eventLoop: any EventLoop) {
        eventLoop.preconditionInEventLoop()
        self.targets = TargetList(targets)
        self.route = route
        self.eventLoop = eventLoop
    }

    func start() {
        timer = eventLoop.repeating(after: .zero, every: ConsoleLimits.scrapeInterval) { [unowned self] in takeTurn() }
    }

    func document() -> FleetDocument {
        fleet.document(now: now, unixSeconds: Double(UTCTimestamp.now()) / 1000)
    }

    func join(_ page: EventPage) {
        hub.join(page, history: HistoryDocument(fleet.history, slots: History.slots), fleet: document())
    }

    private var now: MonotonicTime { MonotonicTime(.now()) }

    private func takeTurn() {
        for name in targets.takeDueNames(now: now) { resolve(name) }
        let processes = targets.processes
        fleet.setTargets(processes, troubles: targets.troubles, now: now)
        fleet.tick(now: now)
        for process in turn.take(of: processes) { ask(process) }
        // Most answers are there by then, so that pages show them while they are young.
        _ = eventLoop.assumeIsolated().scheduleTask(in: ConsoleLimits.tellingDelay) { [self] in
            hub.tell(now: .now()) { document() }
        }
    }

    private func ask(_ process: HostPort) {
        let answer = StatusRequest(address: process, route: route).send(on: eventLoop)
        answer.assumeIsolated().whenSuccess { [self] result in
            turn.ended(process)
            fleet.took(result, of: process, now: now)
        }
    }

    private func resolve(_ name: HostPort) {
        NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { AddressLookup.addresses(of: name) }
            .assumeIsolated()
            .whenComplete { [self] result in
                let found = (try? result.get()) ?? .failure(LookupTrouble(description: "the resolver does not run"))
                targets.resolved(name, found, now: now)
            }
    }
}
