import Glibc
import NIOCore
import NIOPosix
import SocketErrors
import Testing

@Suite struct SocketErrorsTests {
    private struct Other: Error, CustomStringConvertible {
        let description = "the other end left"
    }

    @Test("A connection that fails is told in the system's words, without calls and numbers")
    func refused() async throws {
        let refusal = IOError(errnoCode: ECONNREFUSED, reason: "connect(descriptor:addr:size:)")
        #expect(connectionProblem(refusal) == "connection refused")
        #expect(connectionProblem(Other()) == "the other end left")
        let group = MultiThreadedEventLoopGroup.singleton
        let error = await #expect(throws: NIOConnectionError.self) {
            // A port on which no process listens without privileges.
            _ = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: 1).get()
        }
        #expect(connectionProblem(try #require(error)) == "cannot connect: connection refused")
    }

    /// One address that refuses, twice, and one to which there is no way over TCP.
    private struct Addresses: Resolver, Sendable {
        let eventLoop: any EventLoop

        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            eventLoop.submit {
                try ["127.0.0.1", "224.0.0.1", "127.0.0.1"].map { try SocketAddress(ipAddress: $0, port: port) }
            }
        }

        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            eventLoop.makeSucceededFuture([])
        }

        func cancelQueries() {}
    }

    @Test("When no address of a name can be reached, each reason is told once")
    func reasons() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let error = await #expect(throws: NIOConnectionError.self) {
            _ = try await ClientBootstrap(group: eventLoop)
                .resolver(Addresses(eventLoop: eventLoop))
                .connect(host: "gateway.test", port: 1).get()
        }
        let problem = connectionProblem(try #require(error))
        #expect(problem == "cannot connect: connection refused, network is unreachable")
    }

    @Test(
        "A port that cannot be had is told with what is the matter with it",
        arguments: [
            (EADDRINUSE, "the port is taken by another process"), (EADDRNOTAVAIL, "the address is not this machine's"),
            (EACCES, "the port is for privileged users only"), (ENETDOWN, "network is down"),
        ] as [(CInt, String)]
    )
    func listening(number: CInt, text: String) {
        #expect(listeningProblem(IOError(errnoCode: number, reason: "bind(descriptor:ptr:bytes:)")) == text)
    }

    @Test("An error that is not about listening is left to others")
    func otherErrors() {
        #expect(listeningProblem(Other()) == nil)
    }
}
