import NIOCore
import NIOPosix

/// Gives NIO's connector addresses in the order in which it is to try them.
struct KnownOrder: Resolver, Sendable {
    private let addresses: [SocketAddress]
    private let eventLoop: any EventLoop

    init(_ addresses: [SocketAddress], eventLoop: any EventLoop) {
        self.addresses = addresses
        self.eventLoop = eventLoop
    }

    // The connector takes turns between two answers, and looks at no address' family: one answer keeps its order.

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        eventLoop.makeSucceededFuture(addresses)
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        eventLoop.makeSucceededFuture([])
    }

    func cancelQueries() {}
}
