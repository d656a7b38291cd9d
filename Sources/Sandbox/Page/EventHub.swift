import NIOCore
import PageParts

/// Tells all open pages what happens: one look at the ledgers per interval, however many pages there are, and none
/// while there are none.
///
/// Belongs to the control port's event loop, as its pages do.
final class EventHub {
    private let service: PushService
    private let loop: any EventLoop
    private let hello: [UInt8]
    private var pages: [ObjectIdentifier: EventPage] = [:]
    private var pacing = EventPacing()
    private var nextTick: Scheduled<Void>?

    /// To be made on the loop.
    init(service: PushService, loop: any EventLoop) {
        loop.preconditionInEventLoop()
        self.service = service
        self.loop = loop
        hello = ServerSentEvent.frame("hello", DocumentJSON.encode(HelloDocument(of: service)))
    }

    /// No more pages are taken; see ``SandboxLimits/eventStreams``.
    var isFull: Bool { pages.count >= SandboxLimits.eventStreams }

    /// Takes a page in. Traps when ``isFull``.
    func join(_ page: EventPage) {
        loop.preconditionInEventLoop()
        precondition(!isFull, "one page too many")
        if pages.isEmpty { start() }
        pages[ObjectIdentifier(page)] = page
        page.write([ServerSentEvent.greeting, hello, currentStats()])
    }

    /// Idempotent.
    func leave(_ page: EventPage) {
        guard pages.removeValue(forKey: ObjectIdentifier(page)) != nil, pages.isEmpty else { return }
        nextTick?.cancel()
        nextTick = nil
        for topic in service.topics {
            topic.withLedger { $0.trace.unwatch() }
        }
    }

    private func start() {
        let share = service.topics.count
        for topic in service.topics {
            topic.withLedger { $0.trace.watch(share: share) }
        }
        scheduleTick()
    }

    private func scheduleTick() {
        nextTick = loop.assumeIsolated().scheduleTask(in: SandboxLimits.eventInterval) { self.tick() }
    }

    private func tick() {
        scheduleTick()
        let samples = service.topics.map { topic in topic.withLedger { $0.trace.drain() } }
        let flashes = FlashesDocument.encode(samples).map { ServerSentEvent.frame("flashes", $0) }
        let hasNewStats = pacing.tick() && pacing.shouldSend(DocumentJSON.encode(StatsDocument(of: service)))
        // Once for all pages, and not at all when none needs it.
        lazy var stats = currentStats()
        for page in pages.values {
            let action = page.subscriber.tick(
                isWritable: page.isWritable,
                hasFlashes: flashes != nil,
                hasNewStats: hasNewStats,
                nowMilliseconds: nowMilliseconds,
                stallMilliseconds: SandboxLimits.eventStreamStall.nanoseconds / 1_000_000
            )
            switch action {
            case .nothing: break
            case .close: page.close()
            case .send(let hasFlashes, let hasStats):
                var frames: [[UInt8]] = []
                if hasStats { frames.append(stats) }
                if hasFlashes, let flashes { frames.append(flashes) }
                page.write(frames)
            }
        }
    }

    private func currentStats() -> [UInt8] {
        let stats = DocumentJSON.encode(StatsDocument(of: service))
        return ServerSentEvent.frame("stats", StatsEvent.encode(atMilliseconds: nowMilliseconds, stats: stats))
    }

    /// Since some moment.
    private var nowMilliseconds: Int64 {
        Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)
    }
}
