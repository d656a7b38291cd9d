import Foundation
import Glibc
import Workbench

/// The sandbox under test, and its control interface.
struct SandboxProcess {
    /// The topic's part of `GET /stats`, as far as it is looked at.
    struct Tally: Decodable {
        let accepted: Int
        let distinct: Int
        let delivered: Int
        let stored: Int
        let coalesced: Int
    }

    private struct Stats: Decodable {
        struct Connections: Decodable {
            let open: Int
        }

        let topics: [String: Tally]
        let connections: Connections
    }

    private struct Ready: Decodable {
        let gateway: UInt16
        let api: UInt16
        let control: UInt16
    }

    let child: ChildProcess
    let gatewayPort: UInt16
    let apiPort: UInt16
    /// From the start of the process to the line that says it is ready.
    let startupSeconds: Double
    private let controlPort: UInt16
    private let topic: String

    private static let readyMilliseconds: Int32 = 60_000

    /// Starts it with one event-loop thread.
    ///
    /// - Parameters:
    ///   - name: for messages, and for its log.
    ///   - program: a `belfry` executable; nil: the one under test.
    init(
        _ name: String = "sandbox",
        program: String? = nil,
        servers: Servers,
        pki: URL,
        topic: String,
        devices: Int
    ) throws {
        let start = Sink.now()
        child = try servers.start(
            name,
            program: program ?? servers.programs.belfry,
            arguments: [
                "sandbox", "serve", "--pki", pki.path, "--topics", topic, "--devices", "\(devices)", "--threads", "1",
                "--gateway-port", "0", "--feedback-port", "0", "--device-port", "0", "--control-port", "0",
                "--api-port", "0",
            ]
        )
        let line = try child.line(within: Self.readyMilliseconds)
        startupSeconds = Double(Sink.now() - start) / 1e9
        guard let ready = try? JSONDecoder().decode(Ready.self, from: Data(line.utf8)) else {
            throw BenchmarkError("sandbox: not the line expected: \(line)")
        }
        gatewayPort = ready.gateway
        apiPort = ready.api
        controlPort = ready.control
        self.topic = topic
    }

    /// Waits until so many notifications were accepted in all, or none was for so long.
    ///
    /// - Parameter everyMilliseconds: the time between two questions, each of which costs the sandbox CPU time.
    func awaitAccepted(
        _ count: Int,
        patienceMilliseconds: Int32,
        everyMilliseconds: Int32 = 2
    ) throws -> Tally {
        var tally = try tally()
        var deadline = Sink.now() + UInt64(patienceMilliseconds) * 1_000_000
        while tally.accepted < count, Sink.now() < deadline {
            poll(nil, 0, everyMilliseconds)
            let before = tally.accepted
            tally = try self.tally()
            if tally.accepted > before { deadline = Sink.now() + UInt64(patienceMilliseconds) * 1_000_000 }
        }
        guard tally.accepted == count else {
            throw BenchmarkError("sandbox: \(tally.accepted) notifications were accepted, \(count) were sent")
        }
        return tally
    }

    func tally() throws -> Tally {
        guard let tally = try stats().topics[topic] else { throw BenchmarkError("sandbox: /stats lacks the topic") }
        return tally
    }

    /// Connections of providers that are open now.
    func openConnections() throws -> Int {
        try stats().connections.open
    }

    /// Sets the state of the first devices.
    func set(first count: Int, to state: String) throws {
        let body = "{\"topic\":\"\(topic)\",\"first\":0,\"count\":\(count),\"state\":\"\(state)\"}"
        _ = try HTTPExchange.body(of: "POST", "/devices", body, port: controlPort)
    }

    private func stats() throws -> Stats {
        try JSONDecoder().decode(Stats.self, from: HTTPExchange.body(of: "GET", "/stats", "", port: controlPort))
    }
}
