import HTTPPorts

extension PortLimits {
    /// Limits of a port with a page. A browser opens six connections, and one for its page's events; its heads have the
    /// cookies of all ports of this machine. Bodies that are too long are answered, see ``PageSite/bodyLimitBytes``.
    package static let page = PortLimits(connections: 256, headBytes: 80 << 10)
}

/// A port with a page: everything in which ports differ. Called on the event loop of its connections.
package protocol PageSite: AnyObject {
    /// The open connections of the port.
    var connections: PortConnections { get }
    /// Longest body of a request.
    var bodyLimitBytes: Int { get }
    /// The host names under which the port is served.
    var guardian: RequestGuard { get }
    /// The answer to a request that is not served, be it for a page or for events; nil: it is.
    func refusal(of request: PageRequest) -> PageResponse?
    func respond(to request: PageRequest) -> PageResponse
    /// Takes in a page that follows `GET /events`.
    func join(_ page: EventPage)
    /// The page has gone.
    func leave(_ page: EventPage)
}
