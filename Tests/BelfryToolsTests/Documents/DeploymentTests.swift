import TestSupport
import Testing
import Yams

@testable import BelfrySupport
@testable import BelfryTools

/// The chart for Kubernetes and systemd's units beside the program that they start.
@Suite struct DeploymentTests {
    private typealias Object = [String: Any]

    /// Threads, buffers of the Kafka clients and the like in each lane, beside the memory that a worker's configuration
    /// bounds, of which the lanes have shares.
    private static let otherMemoryBytes = 256 << 20

    /// Files of values of the chart that hold a configuration.
    private static let variants = ["values", "values-production", "values-development"]

    private func load(_ text: String, _ path: String) throws -> BelfryConfiguration {
        try BelfryConfiguration.load(yaml: text, file: path, directory: nil, variables: [:])
    }

    private func values(_ file: String) throws -> Object {
        try #require(Yams.load(yaml: Repository.text(of: "Deploy/helm/\(file).yaml")) as? Object)
    }

    /// The configuration in a file of values.
    private func configuration(_ variant: String) throws -> BelfryConfiguration {
        try load(value(values(variant), "configuration"), "\(variant).yaml")
    }

    private func value<Value>(_ object: Object, _ path: String...) throws -> Value {
        let inner = path.dropLast().reduce(object as Object?) { $0?[$1] as? Object }
        return try #require(inner?[path[path.count - 1]] as? Value, "\(path)")
    }

    /// Seconds from the request to stop to the kill.
    private func grace(_ role: String) throws -> Int {
        try value(values("values"), "roles", role, "terminationGracePeriodSeconds")
    }

    /// The settings of a unit's section `Service`, by name.
    private func unit(_ path: String) throws -> [String: String] {
        let lines = try Repository.text(of: "Deploy/systemd/\(path)").split(separator: "\n")
        let pairs = lines.filter { !$0.hasPrefix("#") }.compactMap { line -> (String, String)? in
            let parts = line.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
        }
        return Dictionary(pairs) { $1 }
    }

    @Test("Every configuration in Deploy can be loaded")
    func configurations() throws {
        let paths = Repository.paths(endingIn: "belfry.yaml", below: "Deploy")
        #expect(!paths.isEmpty)
        for path in paths { #expect(throws: Never.self, "\(path)") { try load(Repository.text(of: path), path) } }
        for variant in Self.variants { #expect(throws: Never.self, "\(variant)") { try configuration(variant) } }
    }

    @Test("A role in Kubernetes listens where the probes ask, also for other pods", arguments: variants)
    func listening(variant: String) throws {
        #expect(try configuration(variant).operations.listen == HostPort(host: "0.0.0.0", port: 9464))
    }

    @Test("Variables of the operations port that the chart sets are settings of a role")
    func operationsVariables() throws {
        let template = try Repository.text(of: "Deploy/helm/templates/roles.yaml")
        let pairs = template.matches(of: /name: (BELFRY_OPERATIONS_[A-Z_]+), value: ([^}]+)}/)
        let settings = try BelfryConfiguration.load(
            yaml: nil,
            file: nil,
            directory: nil,
            variables: Dictionary(uniqueKeysWithValues: pairs.map { (String($0.1), String($0.2)) }),
            requiresEnvironments: false
        )
        #expect(settings.operations.bearerTokenFile == "/operations/token")
        #expect(settings.operations.certificateFile == "/operations-tls/tls-combined.pem")
        #expect(settings.unusedVariables == [])
    }

    @Test("A worker's limit of memory holds what its configuration lets it take", arguments: variants)
    func memory(variant: String) throws {
        let limit: String = try value(values("values"), "roles", "worker", "resources", "limits", "memory")
        let mebibytes = try #require(limit.hasSuffix("Mi") ? Int(limit.dropLast(2)) : nil)
        let worker = try configuration(variant).worker
        let other = worker.lanes.count * Self.otherMemoryBytes
        let needed = worker.shards * worker.shardMemoryBytes + worker.filterMemoryBytes + other
        #expect(mebibytes << 20 >= needed)
        #expect(try unit("belfry@worker.service.d/role.conf")["MemoryMax"] == "\(mebibytes)M")
    }

    @Test("A stopped role has time for its drain, in Kubernetes and under systemd")
    func drain() throws {
        let timeout = try #require(try unit("belfry@.service")["TimeoutStopSec"])
        let underSystemd = try #require(timeout.hasSuffix("s") ? Int(timeout.dropLast()) : nil)
        for variant in Self.variants {
            let worker = try configuration(variant).worker
            let needed = worker.stopTimeout + worker.revokeDeadline + .seconds(10)
            #expect(.seconds(try grace("worker")) >= needed)
            #expect(.seconds(underSystemd) >= needed)
        }
        let harvester = try grace("harvester")
        #expect(harvester >= 60)
        #expect(underSystemd == harvester)
    }

    @Test("The chart starts the image of this version")
    func version() throws {
        let version = BelfryVersion.text
        #expect(try Repository.text(of: "Deploy/helm/values.yaml").contains("\n  tag: \(version)\n"))
        let chart = try #require(Yams.load(yaml: Repository.text(of: "Deploy/helm/Chart.yaml")) as? Object)
        #expect(chart["version"] as? String == version && chart["appVersion"] as? String == version)
    }

    @Test("A worker's unit lets it lower the priority of its threads, which the units of all roles forbid")
    func priorities() throws {
        let common = try Repository.text(of: "Deploy/systemd/belfry@.service")
        #expect(common.contains("\nSystemCallFilter=~@privileged @resources\n"))
        #expect(try unit("belfry@worker.service.d/role.conf")["SystemCallFilter"] == "setpriority")
    }

    @Test("A unit starts again after a failure, and not with a configuration that is wrong")
    func restarts() throws {
        let service = try unit("belfry@.service")
        #expect(service["Restart"] == "on-failure")
        #expect(service["RestartPreventExitStatus"] == "\(ExitStatus.configuration.rawValue)")
    }

    @Test("Roles of one machine have ports of their own, which only that machine reaches")
    func ports() throws {
        let addresses = try ["worker", "registrar", "harvester"].map { role in
            let setting = try unit("belfry@\(role).service.d/role.conf")["Environment"] ?? ""
            let address = try #require(setting.split(separator: "=").last.map(String.init))
            #expect(setting.hasPrefix("BELFRY_OPERATIONS_LISTEN="))
            return try #require(HostPort(address))
        }
        #expect(Set(addresses).count == 3 && addresses.allSatisfy { $0.host == "127.0.0.1" })
        // The console of that machine looks at all of them.
        let scraped = addresses.map { "\($0)" }.joined(separator: ",")
        #expect(try unit("belfry-console.service")["Environment"] == "SCRAPE=\(scraped) OPTIONS=")
    }
}
