import BelfrySupport
import Glibc
import NIOCore
import NIOPosix

/// All addresses of all gateways of an environment, over which connections are spread ([13]).
///
/// Names are resolved on a thread of their own, when the first connection is wanted, and again after a failure or some
/// minutes. If that fails, the former addresses stay in use. Bound to one event loop.
final class GatewayAddresses {
    /// An address, and the name that its certificate must have.
    struct Place: Sendable, Equatable {
        var gateway: HostPort
        var address: SocketAddress
    }

    /// Finds the addresses of one gateway; may block.
    typealias Resolve = @Sendable (HostPort) throws -> [SocketAddress]
    typealias Completion = (Result<Place, any Error>) -> Void

    let eventLoop: any EventLoop
    private let gateways: [HostPort]
    private let resolve: Resolve
    private var places: [Place] = []
    /// The names are resolved again after this time.
    private var staleAt = NIODeadline.uptimeNanoseconds(0)
    private var waiting: [(turn: Int, completion: Completion)] = []

    private static let longestUse = TimeAmount.minutes(5)

    init(_ gateways: [HostPort], eventLoop: any EventLoop, resolve: @escaping Resolve = GatewayAddresses.system) {
        self.gateways = gateways
        self.eventLoop = eventLoop
        self.resolve = resolve
    }

    /// Finds the next address in turn, modulo their number; at once if it is known.
    func next(_ turn: Int, _ completion: @escaping Completion) {
        if NIODeadline.now() < staleAt { return completion(.success(places[turn % places.count])) }
        waiting.append((turn, completion))
        if waiting.count == 1 { resolveAll() }
    }

    /// A connection, or an attempt, failed.
    func noteFailure() {
        staleAt = .uptimeNanoseconds(0)
    }

    private func resolveAll() {
        let gateways = gateways
        let resolve = resolve
        NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
            gateways.map { gateway in
                Result { try resolve(gateway).map { Place(gateway: gateway, address: $0) } }
            }
        }
        .assumeIsolated()
        .whenComplete { [self] in resolved($0) }
    }

    private func resolved(_ results: Result<[Result<[Place], any Error>], any Error>) {
        var found: [Place] = []
        var failure: any Error = UnknownHost(host: gateways.map(\.host).joined(separator: ", "), reason: "no address")
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
        let waiting = waiting
        self.waiting = []
        for (turn, completion) in waiting {
            completion(places.isEmpty ? .failure(failure) : .success(places[turn % places.count]))
        }
    }

    // MARK: The system's resolver

    /// All addresses of a host known to the system; an address stands for itself. Blocks.
    static let system: Resolve = { place in
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

/// A gateway's name has no address.
struct UnknownHost: Error, CustomStringConvertible {
    let host: String
    let reason: String

    var description: String { "\(host) cannot be resolved: \(reason)" }
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
