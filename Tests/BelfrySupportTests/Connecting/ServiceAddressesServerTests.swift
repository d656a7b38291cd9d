import BelfrySupport
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Sender

@Suite struct GatewayAddressesServerTests {
    /// Addresses of the names at the moment, and the number of questions.
    private final class Names: Sendable {
        let state = Mutex<(addresses: [String: [String]], questions: Int)>(([:], 0))

        init(_ addresses: [String: [String]]) {
            state.withLock { $0.addresses = addresses }
        }

        func set(_ addresses: [String: [String]]) { state.withLock { $0.addresses = addresses } }
        var questions: Int { state.withLock(\.questions) }

        func resolve(_ place: HostPort) throws -> [SocketAddress] {
            let found = state.withLock { state in
                state.questions += 1
                return state.addresses[place.host]
            }
            guard let found else { throw UnknownHost(host: place.host, reason: "test") }
            return try found.map { try SocketAddress(ipAddress: $0, port: place.port) }
        }
    }

    private func withAddresses(
        of gateways: [String],
        _ names: Names,
        _ test: (_ next: (Int) async throws -> String, _ fail: () async throws -> Void) async throws -> Void
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let addresses = try await eventLoop.submit {
            let gateways = gateways.map { HostPort(host: $0, port: 2195) }
            return NIOLoopBound(
                GatewayAddresses(gateways, eventLoop: eventLoop) { try names.resolve($0) },
                eventLoop: eventLoop
            )
        }.get()
        try await test { turn in
            try await eventLoop.flatSubmit {
                let promise = eventLoop.makePromise(of: String.self)
                addresses.value.next(turn) { result in
                    promise.completeWith(result.map { "\($0.gateway.host) \($0.address.ipAddress ?? "")" })
                }
                return promise.futureResult
            }.get()
        } _: {
            try await eventLoop.submit { addresses.value.noteFailure() }.get()
        }
    }

    @Test("Connections take turns over all addresses of all gateways, each once, with the name they were found under")
    func turns() async throws {
        let names = Names(["a": ["127.0.0.1", "127.0.0.2", "127.0.0.1"], "b": ["127.0.0.3"]])
        try await withAddresses(of: ["a", "b"], names) { next, _ in
            var found: [String] = []
            for turn in 0..<4 { found.append(try await next(turn)) }
            #expect(found == ["a 127.0.0.1", "a 127.0.0.2", "b 127.0.0.3", "a 127.0.0.1"])
            #expect(names.questions == 2, "each name was resolved once")
        }
    }

    @Test("After a failure the names are resolved again")
    func again() async throws {
        let names = Names(["a": ["127.0.0.1"]])
        try await withAddresses(of: ["a"], names) { next, fail in
            #expect(try await next(0) == "a 127.0.0.1")
            names.set(["a": ["127.0.0.9"]])
            #expect(try await next(0) == "a 127.0.0.1")
            try await fail()
            #expect(try await next(0) == "a 127.0.0.9")
        }
    }

    @Test("While a name cannot be resolved, what was known is used on, and a name that is known is enough")
    func unresolved() async throws {
        let names = Names(["a": ["127.0.0.1"]])
        try await withAddresses(of: ["a", "b"], names) { next, fail in
            #expect(try await next(1) == "a 127.0.0.1")
            names.set([:])
            try await fail()
            #expect(try await next(0) == "a 127.0.0.1")
        }
    }

    @Test("A name that never had an address is an error that says which")
    func unknown() async throws {
        try await withAddresses(of: ["nowhere"], Names([:])) { next, _ in
            await #expect(throws: UnknownHost.self) { try await next(0) }
        }
    }

    @Test("The system's resolver takes an address for itself, localhost for this machine, and nonsense for an error")
    func system() throws {
        let four = try GatewayAddresses.system(HostPort(host: "127.0.0.5", port: 9))
        #expect(four == [try SocketAddress(ipAddress: "127.0.0.5", port: 9)])
        let six = try GatewayAddresses.system(HostPort(host: "::1", port: 9))
        #expect(six == [try SocketAddress(ipAddress: "::1", port: 9)])
        let local = try GatewayAddresses.system(HostPort(host: "localhost", port: 9))
        #expect(local.contains { $0.ipAddress == "127.0.0.1" && $0.port == 9 })
        #expect(throws: UnknownHost.self) { try GatewayAddresses.system(HostPort(host: "no..name", port: 9)) }
    }
}
