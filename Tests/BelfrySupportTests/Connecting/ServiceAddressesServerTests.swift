import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import BelfrySupport

/// The addresses of a service: how names are resolved, and how connections are opened to them.
@Suite(.timeLimit(.minutes(1)))
struct ServiceAddressesServerTests {
    /// Addresses of the names at the moment, and the number of questions.
    private final class Names: Sendable {
        let state = Mutex<(addresses: [String: [String]], questions: Int)>(([:], 0))

        init(_ addresses: [String: [String]]) {
            state.withLock { $0.addresses = addresses }
        }

        func set(_ addresses: [String: [String]]) { state.withLock { $0.addresses = addresses } }
        var questions: Int { state.withLock(\.questions) }

        func resolve(_ name: HostPort) throws -> [SocketAddress] {
            let found = state.withLock { state in
                state.questions += 1
                return state.addresses[name.host]
            }
            guard let found else { throw UnknownHost(host: name.host, reason: "test") }
            return try found.map { try SocketAddress(ipAddress: $0, port: name.port) }
        }
    }

    /// A service's addresses on their event loop, with a memory of their own.
    private struct Service: Sendable {
        private let addresses: NIOLoopBound<ServiceAddresses>
        private var eventLoop: any EventLoop { addresses.eventLoop }

        init(of names: [String], port: Int = 2195, _ resolve: @escaping ServiceAddresses.Resolve) async throws {
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let names = names.map { HostPort(host: $0, port: port) }
            addresses = try await eventLoop.submit {
                NIOLoopBound(
                    ServiceAddresses(names, eventLoop: eventLoop, memory: AddressMemory(), resolve: resolve),
                    eventLoop: eventLoop
                )
            }.get()
        }

        /// The addresses that an attempt would try.
        func order(_ turn: Int = 0) async throws -> [String] {
            try await eventLoop.flatSubmit { [addresses, eventLoop] in
                let promise = eventLoop.makePromise(of: [String].self)
                addresses.value.order(turn) { result in
                    promise.completeWith(result.map { $0.map { "\($0.name.host) \($0.address.ipAddress ?? "")" } })
                }
                return promise.futureResult
            }.get()
        }

        /// Makes one attempt.
        ///
        /// - Returns: the address that it led to; the connection is closed.
        func connect(turn: Int = 0, timeout: TimeAmount = .seconds(30)) async throws -> String {
            try await eventLoop.flatSubmit { [addresses, eventLoop] in
                let promise = eventLoop.makePromise(of: String.self)
                let bootstrap = ClientBootstrap(group: eventLoop)
                addresses.value.connect(bootstrap, turn: turn, timeout: timeout) { result in
                    promise.completeWith(
                        result.map { connected in
                            connected.channel.close(promise: nil)
                            return connected.place.address.ipAddress ?? ""
                        }
                    )
                }
                return promise.futureResult
            }.get()
        }

        func noteFailure() async throws {
            try await eventLoop.submit { [addresses] in addresses.value.noteFailure() }.get()
        }

        func setBack(_ host: String, address: String, port: Int) async throws {
            let name = HostPort(host: host, port: port)
            let place = ServiceAddresses.Place(name: name, address: try SocketAddress(ipAddress: address, port: port))
            try await eventLoop.submit { [addresses] in addresses.value.setBack(place) }.get()
        }
    }

    // MARK: Names

    @Test("Attempts take turns over all addresses of all names, each once, with the name they were found under")
    func turns() async throws {
        let names = Names(["a": ["127.0.0.1", "127.0.0.2", "127.0.0.1"], "b": ["127.0.0.3"]])
        let service = try await Service(of: ["a", "b"]) { try names.resolve($0) }
        var found: [String] = []
        for turn in 0..<4 { found.append(try await service.order(turn)[0]) }
        #expect(found == ["a 127.0.0.1", "a 127.0.0.2", "b 127.0.0.3", "a 127.0.0.1"])
        #expect(try await service.order(1) == ["a 127.0.0.2", "b 127.0.0.3", "a 127.0.0.1"])
        #expect(names.questions == 2, "each name was resolved once")
    }

    @Test("Families of addresses take turns within an attempt")
    func families() async throws {
        let service = try await Service(of: ["a"]) { name in
            try ["::2", "::3", "127.0.0.1"].map { try SocketAddress(ipAddress: $0, port: name.port) }
        }
        #expect(try await service.order() == ["a ::2", "a 127.0.0.1", "a ::3"])
    }

    @Test("After a failure the names are resolved again")
    func again() async throws {
        let names = Names(["a": ["127.0.0.1"]])
        let service = try await Service(of: ["a"]) { try names.resolve($0) }
        #expect(try await service.order() == ["a 127.0.0.1"])
        names.set(["a": ["127.0.0.9"]])
        #expect(try await service.order() == ["a 127.0.0.1"])
        try await service.noteFailure()
        #expect(try await service.order() == ["a 127.0.0.9"])
    }

    @Test("While a name cannot be resolved, what was known is used on, and a name that is known is enough")
    func unresolved() async throws {
        let names = Names(["a": ["127.0.0.1"]])
        let service = try await Service(of: ["a", "b"]) { try names.resolve($0) }
        #expect(try await service.order(1) == ["a 127.0.0.1"])
        names.set([:])
        try await service.noteFailure()
        #expect(try await service.order() == ["a 127.0.0.1"])
    }

    @Test("A resolver that does not answer holds up no attempt once an address is known")
    func mute() async throws {
        let names = Names(["a": ["127.0.0.1"]])
        let answer = DispatchSemaphore(value: 0)
        defer { answer.signal() }
        let service = try await Service(of: ["a"]) { name in
            if names.questions > 0 { answer.wait() }
            return try names.resolve(name)
        }
        #expect(try await service.order() == ["a 127.0.0.1"])
        try await service.noteFailure()
        #expect(try await service.order() == ["a 127.0.0.1"])
        #expect(names.questions == 1)
    }

    @Test("A name that never had an address is an error that says which")
    func unknown() async throws {
        let service = try await Service(of: ["nowhere"]) { try Names([:]).resolve($0) }
        await #expect(throws: UnknownHost.self) { try await service.order() }
        await #expect(throws: UnknownHost.self) { try await service.connect() }
    }

    @Test("The system's resolver takes an address for itself, localhost for this machine, and nonsense for an error")
    func system() throws {
        let four = try ServiceAddresses.system(HostPort(host: "127.0.0.5", port: 9))
        #expect(four == [try SocketAddress(ipAddress: "127.0.0.5", port: 9)])
        let six = try ServiceAddresses.system(HostPort(host: "::1", port: 9))
        #expect(six == [try SocketAddress(ipAddress: "::1", port: 9)])
        let local = try ServiceAddresses.system(HostPort(host: "localhost", port: 9))
        #expect(local.contains { $0.ipAddress == "127.0.0.1" && $0.port == 9 })
        #expect(throws: UnknownHost.self) { try ServiceAddresses.system(HostPort(host: "no..name", port: 9)) }
    }

    // MARK: Connections

    /// Runs the test with a server on a port of 127.0.0.1 alone, and on other loopback addresses that the test names.
    private func withServer(
        at addresses: [String] = ["127.0.0.1"],
        _ test: (_ port: Int) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let first = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(first.localAddress?.port)
        var servers = [first]
        for address in addresses where address != "127.0.0.1" {
            servers.append(try await ServerBootstrap(group: group).bind(host: address, port: port).get())
        }
        try await test(port)
        for server in servers { try await server.close() }
    }

    private static let dead = (2...9).map { "127.0.0.\($0)" }

    @Test("One attempt gets past eight dead addresses, and the next one begins with the address that answered")
    func deadAddresses() async throws {
        try await withServer { port in
            let names = Names(["a": Self.dead + ["127.0.0.1"]])
            let service = try await Service(of: ["a"], port: port) { try names.resolve($0) }
            #expect(try await service.connect() == "127.0.0.1")
            #expect(try await service.order() == (["127.0.0.1"] + Self.dead).map { "a \($0)" })
            #expect(try await service.connect(turn: 1) == "127.0.0.1")
        }
    }

    @Test("An address that is silent is passed while it is waited for, and comes last from then on")
    func silentAddress() async throws {
        try await withServer { port in
            let silent = try SilentAddress("127.0.0.2", port: port)
            let names = Names(["a": ["127.0.0.2", "127.0.0.1"]])
            let service = try await Service(of: ["a"], port: port) { try names.resolve($0) }
            #expect(try await service.connect() == "127.0.0.1")
            #expect(try await service.order() == ["a 127.0.0.1", "a 127.0.0.2"])
            silent.close()
        }
    }

    @Test("An attempt fails when all addresses have failed, with the reason of each, and none of them comes last")
    func allDead() async throws {
        try await withServer { port in
            let names = Names(["a": Self.dead])
            let service = try await Service(of: ["a"], port: port) { try names.resolve($0) }
            let error = await #expect(throws: NIOConnectionError.self) { try await service.connect(turn: 3) }
            let tried = try #require(error).connectionErrors.compactMap(\.target.ipAddress)
            #expect(tried == Array(Self.dead.suffix(5) + Self.dead.prefix(3)))
            #expect(try await service.order() == Self.dead.map { "a \($0)" })
        }
    }

    @Test("After an attempt that took too long those come last that it has tried for sure")
    func tooLong() async throws {
        try await withServer { port in
            let silent = try SilentAddress("127.0.0.2", port: port)
            let names = Names(["a": ["127.0.0.2", "127.0.0.1"]])
            let service = try await Service(of: ["a"], port: port) { try names.resolve($0) }
            await #expect(throws: ChannelError.self) { try await service.connect(timeout: .milliseconds(100)) }
            #expect(try await service.order() == ["a 127.0.0.1", "a 127.0.0.2"])
            silent.close()
        }
    }

    @Test("An address whose server does not go on comes last")
    func setBack() async throws {
        try await withServer(at: ["127.0.0.1", "127.0.0.2"]) { port in
            let names = Names(["a": ["127.0.0.2", "127.0.0.1"]])
            let service = try await Service(of: ["a"], port: port) { try names.resolve($0) }
            #expect(try await service.connect() == "127.0.0.2")
            try await service.setBack("a", address: "127.0.0.2", port: port)
            #expect(try await service.connect() == "127.0.0.1")
        }
    }
}
