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
