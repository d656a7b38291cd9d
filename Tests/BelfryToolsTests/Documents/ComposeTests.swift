import TestSupport
import Testing
import Yams

@testable import BelfrySupport

/// The installation of Deploy/compose.yaml: which service sees which files.
@Suite struct ComposeTests {
    /// A service, with the keys that it merges.
    private typealias Service = [String: Any]

    private static let configuration = "./belfry.yaml:/etc/belfry/belfry.yaml:ro"
    private static let provider = ["certificates:/certificates:ro", "trust:/trust:ro", configuration]

    /// All that each service mounts. Nothing here is for convenience: a line more wants a reason.
    private static let needs = [
        "kafka": ["kafka:/var/lib/kafka/data"],
        "redis": ["redis:/data"],
        // The authority's key signs here, and the sandbox seals device tokens and shows the gateway's certificate.
        "certificates": ["pki:/pki"],
        "handout": ["pki:/pki:ro", "certificates:/certificates", "trust:/trust"],
        "sandbox": ["pki:/pki:ro"],
        "topics": [configuration],
        "worker": provider,
        "harvester": provider,
        // Speaks with Kafka and Redis alone.
        "registrar": [configuration],
        // Asks the roles, and keeps what it hears in memory.
        "console": [],
    ]

    private func services(_ path: String = "Deploy/compose.yaml") throws -> [String: Service] {
        let file = try Yams.load(yaml: Repository.text(of: path)) as? [String: Any]
        let services = try #require(file?["services"] as? [String: Any])
        return try services.mapValues { try #require($0 as? Service) }
    }

    private func mounts(_ service: Service) throws -> [String] {
        service["volumes"] == nil ? [] : try #require(service["volumes"] as? [String])
    }

    @Test("Each service mounts what it needs and nothing else, and gets no file in another way")
    func mounts() throws {
        let services = try services()
        #expect(services.keys.sorted() == Self.needs.keys.sorted())
        for (name, service) in services {
            #expect(try mounts(service).sorted() == Self.needs[name, default: []].sorted(), "\(name)")
            for key in ["secrets", "configs", "volumes_from", "env_file", "extends", "privileged"] {
                #expect(service[key] == nil, "\(name): \(key)")
            }
        }
    }

    /// The services of both files: the second one adds its own, and leaves the others alone.
    private func allServices() throws -> [String: Service] {
        let roles = try services()
        let added = try services("Deploy/compose.prometheus.yaml")
        #expect(added.keys.sorted() == ["grafana", "prometheus"])
        return roles.merging(added) { role, _ in role }
    }

    @Test("Pages are published for this machine alone, and nothing else is published")
    func ports() throws {
        let published = try allServices().compactMapValues { $0["ports"] as? [String] }
        #expect(published.keys.sorted() == ["console", "grafana", "prometheus"])
        #expect(published.values.joined().allSatisfy { $0.hasPrefix("127.0.0.1:") })
    }

    @Test("No service has a privilege, all memory, processors or processes, or an image of any version")
    func hardening() throws {
        for (name, service) in try allServices() {
            #expect(service["cap_drop"] as? [String] == ["ALL"] && service["cap_add"] == nil, "\(name)")
            #expect(service["security_opt"] as? [String] == ["no-new-privileges:true"], "\(name)")
            for key in ["mem_limit", "cpus", "pids_limit"] { #expect(service[key] != nil, "\(name): \(key)") }
            // Kafka's image writes its configuration beside the program when it starts.
            #expect(service["read_only"] as? Bool == (name == "kafka" ? nil : true), "\(name)")
            let image = try #require(service["image"] as? String)
            let isPinned = image.wholeMatch(of: /[a-z\/]+:v?[0-9]+\.[0-9]+(?:\.[0-9]+|-[a-z]+)/) != nil
            #expect(isPinned || image == "belfry", "\(name): \(image)")
        }
    }

    @Test("A worker's limit of memory holds what its configuration lets it take")
    func memory() throws {
        let path = "Deploy/belfry.yaml"
        let text = try Repository.text(of: path)
        let worker = try BelfryConfiguration.load(yaml: text, file: path, directory: nil, variables: [:]).worker
        let limit = try #require(try services()["worker"]?["mem_limit"] as? String)
        let mebibytes = try #require(limit.hasSuffix("m") ? Int(limit.dropLast()) : nil)
        // Threads, buffers of the Kafka clients and the like of each lane come beside what the configuration bounds.
        let other = worker.lanes.count * (256 << 20)
        let needed = worker.shards * worker.shardMemoryBytes + worker.filterMemoryBytes + other
        #expect(mebibytes << 20 >= needed)
    }

    @Test("The whole PKI lies only where certificates are made and handed out, and in the sandbox; no role sees it")
    func authority() throws {
        let services = try services()
        let holders = try services.filter { try mounts($0.value).contains { $0.hasPrefix("pki:") } }
        #expect(holders.keys.sorted() == ["certificates", "handout", "sandbox"])
        let writers = try services.filter { try mounts($0.value).contains("pki:/pki") }
        #expect(writers.keys.sorted() == ["certificates"])
    }

    @Test("The roles get the providers' certificates and the root of trust, and no key of the authority or of tokens")
    func handOut() throws {
        let service = try #require(try services()["handout"])
        let script = try #require((service["command"] as? [String])?.first)
        var copied: [String: [String]] = [:]
        for line in script.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            #expect(words.first == "install" && words.last?.hasPrefix("/pki") == false, "\(line)")
            copied[words.last ?? "", default: []] += words.dropFirst().dropLast().filter { !$0.hasPrefix("--mode=") }
        }
        // Exact names: a pattern might take a key along.
        #expect(
            copied == [
                "/certificates": ["/pki/com.example.news.pem", "/pki/com.example.chat.pem"], "/trust": ["/pki/ca.pem"],
            ]
        )
    }
}
