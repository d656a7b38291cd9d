import Glibc
import NIOCore
import NIOPosix
import PipelineCore
import SocketErrors
import TLSTransport

/// All addresses of a service that has one name or several, and the connections that are opened to them.
///
/// One attempt to connect tries the addresses in the order of `AddressOrder`. NIO's connector does so by RFC 8305: it
/// goes on to the next address after a quarter of a second, or at once when all before have failed. The first that
/// answers is used and the others are closed; an error says that all have failed.
///
/// With a proxy the addresses are the proxy's, and it resolves the names of the service: it is asked for a tunnel to
/// one name after the other, each over a connection of its own, until it opens one. Names that it did not reach come
/// last for a while.
///
/// Names are resolved on a thread of their own, when a connection is wanted, and again after a failure or half a
/// minute. If that fails, or takes long, the former addresses stay in use. Bound to one event loop.
package final class ServiceAddresses {
    /// An address, and the name that its certificate must have.
    package struct Place: Sendable, Hashable {
        package var name: HostPort
        package var address: SocketAddress
    }

    /// A connection that stands, over which TLS is to begin.
    package struct Connected {
        package let channel: any Channel
        /// The place that it leads to; through a proxy with the address of that.
        package let place: Place
        /// Bytes that went to a proxy.
        var sentBytes = 0

        /// See `Channel.beginTLS`.
        package func beginTLS(_ context: TLSContext, _ handler: any ChannelHandler) throws {
            try channel.beginTLS(context, serverName: place.name.host, sentBytes: sentBytes, handler)
        }
    }

    /// Finds the addresses of one name; may block.
    package typealias Resolve = @Sendable (HostPort) throws -> [SocketAddress]

    package let eventLoop: any EventLoop
    private let names: [HostPort]
    private let proxy: ProxySettings?
    private let memory: AddressMemory
    private let resolve: Resolve
    private var places: [Place] = []
    /// The names are resolved again after this time.
    private var staleAt = NIODeadline.uptimeNanoseconds(0)
    private var isResolving = false
    private var waiting: [(turn: Int, completion: (Result<[Place], any Error>) -> Void)] = []

    private static let longestUse = TimeAmount.seconds(30)
    /// Addresses that are known are used when the resolver has not answered within this time. [ours]
    private static let patience = TimeAmount.seconds(1)
    /// A proxy that resolves a name and connects to it gets at least this time to answer. [ours]
    private static let shortestAnswer = TimeAmount.seconds(2)

    /// - Parameters:
    ///   - names: of the service; one at least.
    ///   - proxy: leads to them; nil: connections go to their own addresses.
    ///   - memory: of the addresses that did not answer.
    package init(
        _ names: [HostPort],
        through proxy: ProxySettings? = nil,
        eventLoop: any EventLoop,
        memory: AddressMemory = .process,
        resolve: @escaping Resolve = ServiceAddresses.system
    ) {
        self.names = names
        self.proxy = proxy
        self.eventLoop = eventLoop
        self.memory = memory
        self.resolve = resolve
    }

    /// The names, for the log.
    package var description: String {
        names.map(\.description).joined(separator: ", ") + (proxy.map { " through \($0.address)" } ?? "")
    }

    /// The names that have addresses here.
    private var resolvedNames: [HostPort] { proxy.map { [$0.address] } ?? names }

    // MARK: Connecting

    /// Makes one attempt to connect. Calls back in a later turn of the event loop.
    ///
    /// - Parameters:
    ///   - bootstrap: for channels of this event loop; without handlers, which may be added in the completion.
    ///   - turn: rises from one attempt to the next, so that connections are spread over the addresses.
    ///   - timeout: for all addresses together, without the time that the resolver takes; and again for the answers of
    ///     a proxy, see ``answerTimeout(names:within:)``.
    ///   - completion: an error that comes of a proxy is a ``ProxyFailure``.
    package func connect(
        _ bootstrap: ClientBootstrap,
        turn: Int,
        timeout: TimeAmount,
        _ completion: @escaping (Result<Connected, any Error>) -> Void
    ) {
        guard let proxy else { return open(bootstrap, turn, timeout, completion) }
        let names = names
        let now = MonotonicTime(NIODeadline.now())
        let order = memory.proxied.withLock { $0.order(of: names, turn: turn, now: now) { _ in 0 } }
        let attempt = ProxyAttempt(proxy: proxy, order: order, bootstrap: bootstrap, turn: turn, timeout: timeout)
        tunnel(attempt, completion)
    }

    /// The time for a proxy's answer for one of so many names.
    ///
    /// Each has a share of the time, so that one which the proxy waits for does not take that of the others. With many
    /// names it is 2 s at least, or all of the time if that is less: all may then take longer than `timeout`.
    static func answerTimeout(names count: Int, within timeout: TimeAmount) -> TimeAmount {
        max(.nanoseconds(timeout.nanoseconds / Int64(count)), min(timeout, shortestAnswer))
    }

    /// Opens a connection to the first of the addresses that answers.
    private func open(
        _ bootstrap: ClientBootstrap,
        _ turn: Int,
        _ timeout: TimeAmount,
        _ completion: @escaping (Result<Connected, any Error>) -> Void
    ) {
        order(turn) { [self] result in
            switch result {
            case .success(let order): race(bootstrap, order, timeout, completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// A connection, or an attempt, failed: names are resolved again before the next attempt.
    package func noteFailure() {
        staleAt = .uptimeNanoseconds(0)
    }

    /// A connection stood, but its peer did not go on: others are tried before this address.
    package func setBack(_ place: Place) {
        if proxy == nil { setBackAddress(place) } else { setBackName(place.name) }
    }

    private func setBackAddress(_ place: Place) {
        let found = places
        note { $0.failed([place], of: found, now: $1) }
    }

    private func setBackName(_ name: HostPort) {
        let names = names
        let now = MonotonicTime(NIODeadline.now())
        memory.proxied.withLock { $0.failed([name], of: names, now: now) }
    }

    private func race(
        _ bootstrap: ClientBootstrap,
        _ order: [Place],
        _ timeout: TimeAmount,
        _ completion: @escaping (Result<Connected, any Error>) -> Void
    ) {
        bootstrap
            .connectTimeout(timeout)
            .resolver(KnownOrder(order.map(\.address), eventLoop: eventLoop))
            .connect(host: order[0].name.host, port: order[0].name.port)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel):
                    // An address such as 0.0.0.0 leads to another one.
                    let place = order.first { $0.address == channel.remoteAddress } ?? order[0]
                    note { $0.connected(to: place, of: order, now: $1) }
                    // The channel becomes active for its pipeline when this has returned.
                    eventLoop.assumeIsolated().execute {
                        guard channel.isActive else { return completion(.failure(ChannelError.ioOnClosedChannel)) }
                        completion(.success(Connected(channel: channel, place: place)))
                    }
                case .failure(let error):
                    noteFailure(of: order, error, timeout)
                    completion(.failure(error))
                }
            }
    }

    private func noteFailure(of order: [Place], _ error: any Error, _ timeout: TimeAmount) {
        let found = places
        if case .connectTimeout? = error as? ChannelError {
            note { $0.timedOut(order, of: found, after: .nanoseconds(timeout.nanoseconds), now: $1) }
        } else {
            note { $0.failed(order, of: found, now: $1) }
        }
    }

    private func note(_ change: (inout AddressOrder<Place>, MonotonicTime) -> Void) {
        let now = MonotonicTime(NIODeadline.now())
        memory.order.withLock { change(&$0, now) }
    }

    // MARK: Through a proxy

    /// One attempt to connect through a proxy.
    private struct ProxyAttempt {
        let proxy: ProxySettings
        /// The names of the service as they are tried.
        let order: [HostPort]
        let bootstrap: ClientBootstrap
        let turn: Int
        /// For each connection to the proxy.
        let timeout: TimeAmount

        var answerTimeout: TimeAmount { ServiceAddresses.answerTimeout(names: order.count, within: timeout) }

        func failure(at index: Int, _ cause: ProxyFailure.Cause) -> ProxyFailure {
            ProxyFailure(of: proxy, target: order[index], cause)
        }
    }

    /// Tries the names of the order from one on.
    private func tunnel(
        _ attempt: ProxyAttempt,
        at index: Int = 0,
        _ completion: @escaping (Result<Connected, any Error>) -> Void
    ) {
        open(attempt.bootstrap, attempt.turn, attempt.timeout) { [self] result in
            switch result {
            case .success(let connected): tunnel(attempt, at: index, over: connected, completion)
            case .failure(let error):
                completion(.failure(attempt.failure(at: index, .unreachable(connectionProblem(error)))))
            }
        }
    }

    /// Asks for one name over a connection to the proxy.
    private func tunnel(
        _ attempt: ProxyAttempt,
        at index: Int,
        over connected: Connected,
        _ completion: @escaping (Result<Connected, any Error>) -> Void
    ) {
        let (channel, order) = (connected.channel, attempt.order)
        let target = order[index]
        let handler = ProxyTunnelHandler(to: target, through: attempt.proxy, timeout: attempt.answerTimeout) { [self] in
            switch $0 {
            case .success(let sentBytes):
                let now = MonotonicTime(NIODeadline.now())
                memory.proxied.withLock { $0.connected(to: target, of: order, now: now) }
                let place = Place(name: target, address: connected.place.address)
                completion(.success(Connected(channel: channel, place: place, sentBytes: sentBytes)))
            case .failure(let cause):
                channel.close(mode: .all, promise: nil)
                let failure = attempt.failure(at: index, cause)
                if failure.isOfAddress { setBackAddress(connected.place) }
                if failure.isOfTarget { setBackName(target) }
                guard failure.isOfTarget, index + 1 < order.count else { return completion(.failure(failure)) }
                tunnel(attempt, at: index + 1, completion)
            }
        }
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            channel.close(mode: .all, promise: nil)
            completion(.failure(attempt.failure(at: index, .unreachable(connectionProblem(error)))))
        }
    }

    // MARK: Resolving

    /// Finds the addresses that one attempt tries, in their order; at once if they are known.
    func order(_ turn: Int, _ completion: @escaping (Result<[Place], any Error>) -> Void) {
        if NIODeadline.now() < staleAt { return completion(.success(order(turn))) }
        waiting.append((turn, completion))
        if !isResolving { resolveAll() }
        guard !places.isEmpty else { return }
        eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in answer() }
    }

    private func order(_ turn: Int) -> [Place] {
        let found = places
        let now = MonotonicTime(NIODeadline.now())
        return memory.order.withLock { $0.order(of: found, turn: turn, now: now) { $0.address.protocol.rawValue } }
    }

    private func resolveAll() {
        isResolving = true
        let names = resolvedNames
        let resolve = resolve
        NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            names.map { name in
                Result { try resolve(name).map { Place(name: name, address: $0) } }
            }
        }
        .assumeIsolated()
        .whenComplete { [self] in resolved($0) }
    }

    private func resolved(_ results: Result<[Result<[Place], any Error>], any Error>) {
        isResolving = false
        var found: [Place] = []
        var failure: any Error = UnknownHost(
            host: resolvedNames.map(\.host).joined(separator: ", "),
            reason: "no address"
        )
        switch results {
        case .success(let each):
            for result in each {
                switch result {
                case .success(let places):
                    for place in places where !found.contains(place) { found.append(place) }
                case .failure(let error):
                    failure = error
                }
            }
        case .failure(let error):
            failure = error
        }
        if !found.isEmpty { places = found }
        if !places.isEmpty { staleAt = .now() + Self.longestUse }
        answer(failure)
    }

    /// Answers all that wait, with the addresses that are known.
    ///
    /// - Parameter failure: the reason if there are none.
    private func answer(_ failure: (any Error)? = nil) {
        let waiting = waiting
        self.waiting = []
        for (turn, completion) in waiting {
            if let failure, places.isEmpty {
                completion(.failure(failure))
            } else {
                completion(.success(order(turn)))
            }
        }
    }

    // MARK: The system's resolver

    /// All addresses of a host known to the system; an address stands for itself. Blocks.
    package static let system: Resolve = { place in
        if let address = try? SocketAddress(ipAddress: place.host, port: place.port) { return [address] }
        // Addresses of a family in which this machine has none are useless, unless there are no others.
        do {
            return try look(up: place, flags: AI_ADDRCONFIG)
        } catch {
            return try look(up: place, flags: 0)
        }
    }

    private static func look(up place: HostPort, flags: CInt) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_flags = flags
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(place.host, String(place.port), &hints, &list)
        guard status == 0 else {
            throw UnknownHost(host: place.host, reason: String(cString: gai_strerror(status)))
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = SocketAddress(entry.pointee, host: place.host) { found.append(address) }
            next = entry.pointee.ai_next
        }
        guard !found.isEmpty else { throw UnknownHost(host: place.host, reason: "no address") }
        return found
    }
}

/// A name has no address.
package struct UnknownHost: Error, CustomStringConvertible {
    let host: String
    let reason: String

    package var description: String { "\(host) cannot be resolved: \(reason)" }
}

extension SocketAddress {
    /// The address of one entry of the resolver's answer; nil for another family than IPv4 and IPv6.
    fileprivate init?(_ entry: addrinfo, host: String) {
        guard let address = entry.ai_addr else { return nil }
        let bytes = UnsafeRawPointer(address)
        switch entry.ai_family {
        case AF_INET: self.init(bytes.loadUnaligned(as: sockaddr_in.self), host: host)
        case AF_INET6: self.init(bytes.loadUnaligned(as: sockaddr_in6.self), host: host)
        default: return nil
        }
    }
}
