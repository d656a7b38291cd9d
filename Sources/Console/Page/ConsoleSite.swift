import HTTPPorts
import NIOCore
import PageParts

/// The console's port without its transport: the page, the runbook, `GET /fleet`, and the stream of events. It reads
/// only.
///
/// Belongs to the console's event loop.
final class ConsoleSite: PageSite {
    private let watch: FleetWatch
    let guardian: RequestGuard
    let connections = PortConnections(.page)

    init(watch: FleetWatch, guardian: RequestGuard) {
        self.watch = watch
        self.guardian = guardian
    }

    /// Nothing that is sent here is read.
    var bodyLimitBytes: Int { 0 }

    func refusal(of request: PageRequest) -> PageResponse? {
        guard request.method == "GET" else {
            var response = PageResponse(refusing: PortRefusal(error: "this port is read only: GET"), status: 405)
            response.headers["allow"] = "GET"
            return response
        }
        guard request.path == "/events", watch.hub.isFull else { return nil }
        let error = "\(ConsoleLimits.eventStreams) pages are open, no more are served"
        return PageResponse(refusing: PortRefusal(error: error), status: 503)
    }

    func respond(to request: PageRequest) -> PageResponse {
        if let file = PageFile.console.first(where: { $0.path == request.path }) { return PageResponse(file) }
        if let page = Runbook.page(at: request.path) { return page }
        switch request.path {
        case "/fleet":
            return PageResponse(status: 200, body: DocumentJSON.encode(watch.document()) + [UInt8(ascii: "\n")])
        case "/livez": return PageResponse(status: 200, body: Array("alive\n".utf8), contentType: "text/plain")
        default:
            let refusal = PortRefusal(error: "there is only /, /fleet, /events, /livez and /runbook")
            return PageResponse(refusing: refusal, status: 404)
        }
    }

    func join(_ page: EventPage) { watch.join(page) }

    func leave(_ page: EventPage) { watch.hub.leave(page) }
}
