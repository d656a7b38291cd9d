import APNsProtocol
import BelfrySupport
import PushTopics
import TestSupport
import Testing

@testable import BelfryTools

/// The embedded broker at a port of one's choice.
@Suite struct BrokerRelayTests {
    /// Runs the role until `body` returns.
    private func withBroker(at port: Int, _ body: (_ address: String) async throws -> Void) async throws {
        let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
        let role = EmbeddedBrokerRole(TopicLayout(partitions: 2), port: port) { continuation.yield($0) }
        let running = Task {
            defer { continuation.finish() }
            try await role.run()
        }
        var iterator = addresses.makeAsyncIterator()
        guard let address = await iterator.next() else { return try await running.value }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(address))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        try await running.value
        try result.get()
    }

    @Test("A broker at a port of one's choice is found there, and takes records")
    func chosenPort() async throws {
        let port = try freePort()
        try await withBroker(at: port) { address in
            #expect(address == "127.0.0.1:\(port)")
            var settings = KafkaSettings()
            settings.brokers = address
            let token = Hex.encode([UInt8](repeating: 1, count: 32))
            let order = RegistrationOrder(bundleID: "com.example.news", tokens: .listed([token]))
            let report = try Publisher.register(order, through: settings)
            #expect(report.records == 1)
        }
    }

    @Test("Port 0 is a free one")
    func freePortOfTheSystem() async throws {
        try await withBroker(at: 0) { address in
            let found = try #require(HostPort(address))
            #expect(found.host == "127.0.0.1")
            #expect((1...65_535).contains(found.port))
        }
    }

    @Test("A port that is taken is named, with the option that names another")
    func takenPort() async throws {
        try await withBroker(at: 0) { address in
            let port = try #require(HostPort(address)).port
            let error = await #expect(throws: ToolError.self) { try await withBroker(at: port) { _ in } }
            #expect(
                error
                    == .kafka(
                        "cannot listen on 127.0.0.1:\(port): the port is taken by another process; "
                            + "--port names another port"
                    )
            )
        }
    }
}
