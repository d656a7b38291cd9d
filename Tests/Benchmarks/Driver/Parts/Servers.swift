import Foundation
import Workbench

/// Starts the servers of a scenario in its workspace.
struct Servers {
    let programs: Programs
    let workspace: Workspace

    private static let startMilliseconds: Int32 = 20_000

    /// A Redis server with what the pipeline requires of one. Returns its `host:port`.
    func startRedis() throws -> String {
        let port = try freePort()
        let child = try start(
            "redis-server",
            program: Programs.find("redis-server"),
            arguments: [
                "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                "--maxmemory-policy", "noeviction", "--dir", workspace.makeDirectory("redis").path,
            ]
        )
        try child.awaitLine(containing: "Ready to accept connections", within: Self.startMilliseconds)
        return "127.0.0.1:\(port)"
    }

    /// The embedded broker with the topics of the contract. Returns its `host:port`.
    ///
    /// Other than the foreign brokers that run here it lets a fetch wait until there is something to fetch: with those
    /// an idle consumer spins, and CPU time says nothing.
    ///
    /// - Parameter program: a `belfry` executable, whose version knows the Kafka topics; nil: the one under test.
    func startBroker(_ program: String? = nil, partitions: Int) throws -> String {
        let child = try start(
            "broker",
            program: program ?? programs.belfry,
            arguments: ["broker", "--partitions", "\(partitions)"]
        )
        let line = try child.line(within: Self.startMilliseconds)
        guard let ready = try? JSONDecoder().decode(BrokerReady.self, from: Data(line.utf8)) else {
            throw BenchmarkError("broker: not the line expected: \(line)")
        }
        return ready.brokers
    }

    /// A broker that runs already: creates the topics of the contract where they are missing.
    ///
    /// - Parameters:
    ///   - kafka: its `host:port`.
    ///   - program: a `belfry` executable, whose version knows the Kafka topics.
    func prepare(kafka: String, _ program: String, partitions: Int) throws {
        try run(
            "topics",
            program: program,
            arguments: ["topics", "create", "--brokers", kafka, "--partitions", "\(partitions)"]
        )
    }

    /// Makes a development PKI, and a directory `certificates` that holds the app's certificate alone. Returns the
    /// PKI's directory.
    func makeCertificates() throws -> URL {
        let pki = try makePKI(topics: [BenchmarkApp.bundle])
        _ = try copyCertificates(of: [BenchmarkApp.bundle], from: pki)
        return pki
    }

    /// Makes a development PKI with a certificate for each topic. Returns its directory.
    func makePKI(topics: [String]) throws -> URL {
        let pki = workspace.file("pki")
        try run(
            "certificates",
            program: programs.belfry,
            arguments: ["sandbox", "certificates", "--pki", pki.path, "--topics", topics.joined(separator: ",")]
        )
        return pki
    }

    /// Makes a directory `certificates` that holds the topics' certificates alone. Returns it.
    func copyCertificates(of topics: [String], from pki: URL) throws -> URL {
        let directory = try workspace.makeDirectory("certificates")
        for name in topics.map({ "\($0).pem" }) {
            try FileManager.default.copyItem(
                at: pki.appendingPathComponent(name),
                to: directory.appendingPathComponent(name)
            )
        }
        return directory
    }

    /// The same programs with a workspace of their own within this one.
    func within(_ name: String) throws -> Servers {
        Servers(programs: programs, workspace: Workspace(directory: try workspace.makeDirectory(name)))
    }

    /// Starts a program whose stderr goes to `<name>.log`.
    ///
    /// It leads a process group and ends with the benchmark.
    ///
    /// - Parameter environment: added to this process's own.
    func start(
        _ name: String,
        program: String,
        arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        do {
            let child = try ChildProcess(
                name,
                executable: program,
                arguments: arguments,
                environment: environment,
                logFile: workspace.file("\(name).log").path,
                leadsGroup: true,
                takesInput: true
            )
            ChildRegistry.add(child)
            return child
        } catch {
            throw BenchmarkError("\(error)")
        }
    }

    /// Runs a program to its end and expects success.
    func run(_ name: String, program: String, arguments: [String]) throws {
        try start(name, program: program, arguments: arguments).awaitSuccess()
    }

    private struct BrokerReady: Decodable {
        let brokers: String
    }
}
