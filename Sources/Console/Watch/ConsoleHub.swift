import NIOCore
import PageParts

/// Tells all open pages of the fleet: one document for all of them in each turn, and none while there is no page.
///
/// Belongs to the console's event loop, as its pages do.
final class ConsoleHub {
    private var pages: [ObjectIdentifier: EventPage] = [:]

    /// No more pages are taken.
    var isFull: Bool { pages.count >= ConsoleLimits.eventStreams }

    /// Takes a page in, with the history and the state of the moment. Traps when ``isFull``.
    func join(_ page: EventPage, history: HistoryDocument, fleet: FleetDocument) {
        precondition(!isFull, "one page too many")
        pages[ObjectIdentifier(page)] = page
        let frames = [("history", DocumentJSON.encode(history)), ("fleet", DocumentJSON.encode(fleet))]
        page.write([ServerSentEvent.greeting] + frames.map { ServerSentEvent.frame($0.0, $0.1) })
    }

    /// Idempotent.
    func leave(_ page: EventPage) {
        pages[ObjectIdentifier(page)] = nil
    }

    /// A turn is over.
    ///
    /// - Parameter document: made when a page needs it.
    func tell(now: NIODeadline, _ document: () -> FleetDocument) {
        guard !pages.isEmpty else { return }
        lazy var frame = ServerSentEvent.frame("fleet", DocumentJSON.encode(document()))
        for page in pages.values {
            let action = page.subscriber.tick(
                isWritable: page.isWritable,
                hasFlashes: false,
                hasNewStats: true,
                nowMilliseconds: Int64(now.uptimeNanoseconds / 1_000_000),
                stallMilliseconds: ConsoleLimits.eventStreamStall.nanoseconds / 1_000_000
            )
            switch action {
            case .nothing: break
            case .close: page.close()
            case .send: page.write([frame])
            }
        }
    }
}
