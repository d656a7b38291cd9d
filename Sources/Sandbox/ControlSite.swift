import HTTPPorts
import PageParts

/// The control port without its transport: ``ControlAPI`` and ``PageAPI`` answer, ``EventHub`` streams `GET /events`.
///
/// Belongs to the control port's event loop.
final class ControlSite: PageSite {
    private let api: ControlAPI
    private let page: PageAPI
    private let hub: EventHub
    let guardian = RequestGuard()
    let connections = PortConnections(.page)

    init(service: PushService, hub: EventHub) {
        api = ControlAPI(service: service)
        page = PageAPI(service: service)
        self.hub = hub
    }

    var bodyLimitBytes: Int { SandboxLimits.controlBodyBytes }

    func refusal(of request: PageRequest) -> PageResponse? {
        guard request.method == "GET", request.path == "/events", hub.isFull else { return nil }
        let error = "\(SandboxLimits.eventStreams) pages are open, no more are served"
        return PageResponse(refusing: PortRefusal(error: error), status: 503)
    }

    func respond(to request: PageRequest) -> PageResponse {
        let (method, path, query) = (request.method, request.path, request.query)
        return page.respond(method: method, path: path, query: query)
            ?? api.respond(method: method, path: path, query: query, body: request.body)
    }

    func join(_ page: EventPage) { hub.join(page) }

    func leave(_ page: EventPage) { hub.leave(page) }
}
