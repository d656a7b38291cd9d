import Testing
import Yams

@testable import BelfrySupport
@testable import BelfryTools

/// Kubernetes' objects and systemd's units beside the program that they start.
@Suite struct DeploymentTests {
    private typealias Object = [String: Any]

    /// Threads, buffers of the Kafka clients and the like, beside the memory that a worker's configuration bounds.
    private static let otherMemoryBytes = 256 << 20

    private static let variants = ["base", "production", "development"]

    private func configuration(_ path: String) throws -> BelfryConfiguration {
        let text = try Repository.text(of: path)
        return try BelfryConfiguration.load(yaml: text, file: path, directory: nil, variables: [:])
    }

    /// The Deployment of a role, of `Deploy/kubernetes/base`.
    private func deployment(_ role: String) throws -> Object {
        let documents = try Yams.load_all(yaml: Repository.text(of: "Deploy/kubernetes/base/\(role).yaml"))
        let objects = try documents.map { try #require($0 as? Object) }
        return try #require(objects.first { $0["kind"] as? String == "Deployment" })
    }

    private func value<Value>(_ object: Object, _ path: String...) throws -> Value {
        let inner = path.dropLast().reduce(object as Object?) { $0?[$1] as? Object }
        return try #require(inner?[path[path.count - 1]] as? Value, "\(path)")
    }

    /// The first container of a role's pods.
    private func container(_ role: String) throws -> Object {
        let containers: [Object] = try value(deployment(role), "spec", "template", "spec", "containers")
        return try #require(containers.first)
    }

    /// Seconds from the request to stop to the kill.
    private func grace(_ role: String) throws -> Int {
        try value(deployment(role), "spec", "template", "spec", "terminationGracePeriodSeconds")
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
        #expect(paths.count >= 1 + Self.variants.count)
        for path in paths { #expect(throws: Never.self, "\(path)") { try configuration(path) } }
    }

    @Test("A role in Kubernetes listens where the probes ask, also for other pods")
    func listening() throws {
        for variant in Self.variants {
            let operations = try configuration("Deploy/kubernetes/\(variant)/belfry.yaml").operations
            #expect(operations.listen == HostPort(host: "0.0.0.0", port: 9464))
        }
        for role in ["worker", "registrar", "harvester"] {
            let ports: [Object] = try value(container(role), "ports")
            #expect(ports.map { $0["containerPort"] as? Int } == [9464])
            let arguments: [String] = try value(container(role), "args")
            #expect(arguments == [role, "--config", "/etc/belfry/belfry.yaml"])
        }
    }

    @Test("What the components for the operations port mount is what they tell a role to read")
    func operationsComponents() throws {
        for (folder, variable, setting) in [
            ("operations-token", "BELFRY_OPERATIONS_BEARER_TOKEN_FILE", \OperationsSettings.bearerTokenFile),
            ("operations-tls", "BELFRY_OPERATIONS_CERTIFICATE", \.certificateFile),
        ] {
            let text = try Repository.text(of: "Deploy/kubernetes/\(folder)/kustomization.yaml")
            let component = try #require(Yams.load(yaml: text) as? Object)
            let patches: [Object] = try value(component, "patches")
            let patch: String = try value(try #require(patches.first), "patch")
            let values = try #require(Yams.load(yaml: patch) as? [Object]).compactMap { $0["value"] as? Object }
            let path = try #require(values.first { $0["name"] as? String == variable }?["value"] as? String)
            let mount = try #require(values.compactMap { $0["mountPath"] as? String }.first)
            #expect(path.hasPrefix(mount + "/"))
            let settings = try BelfryConfiguration.load(
                yaml: nil,
                file: nil,
                directory: nil,
                variables: [variable: path],
                requiresEnvironments: false
            )
            #expect(settings.operations[keyPath: setting] == path && settings.unusedVariables == [])
        }
    }

    @Test("A worker's limit of memory holds what its configuration lets it take", arguments: variants)
    func memory(variant: String) throws {
        let limit: String = try value(container("worker"), "resources", "limits", "memory")
        let mebibytes = try #require(limit.hasSuffix("Mi") ? Int(limit.dropLast(2)) : nil)
        let worker = try configuration("Deploy/kubernetes/\(variant)/belfry.yaml").worker
        let needed = worker.shards * worker.shardMemoryBytes + worker.filterMemoryBytes + Self.otherMemoryBytes
        #expect(mebibytes << 20 >= needed)
        #expect(try unit("belfry@worker.service.d/role.conf")["MemoryMax"] == "\(mebibytes)M")
    }

    @Test("A stopped role has time for its drain, in Kubernetes and under systemd")
    func drain() throws {
        let timeout = try #require(try unit("belfry@.service")["TimeoutStopSec"])
        let underSystemd = try #require(timeout.hasSuffix("s") ? Int(timeout.dropLast()) : nil)
        for variant in Self.variants {
            let worker = try configuration("Deploy/kubernetes/\(variant)/belfry.yaml").worker
            let needed = worker.stopTimeout + worker.revokeDeadline + .seconds(10)
            #expect(.seconds(try grace("worker")) >= needed)
            #expect(.seconds(underSystemd) >= needed)
        }
        let harvester = try grace("harvester")
        #expect(harvester >= 60)
        #expect(underSystemd == harvester)
    }

    @Test("Kustomize and chart start the image of this version")
    func version() throws {
        let version = BelfryVersion.text
        #expect(try Repository.text(of: "Deploy/kubernetes/base/kustomization.yaml").contains("newTag: \(version)}"))
        #expect(try Repository.text(of: "Deploy/helm/values.yaml").contains("\n  tag: \(version)\n"))
        let chart = try #require(Yams.load(yaml: Repository.text(of: "Deploy/helm/Chart.yaml")) as? Object)
        #expect(chart["version"] as? String == version && chart["appVersion"] as? String == version)
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
