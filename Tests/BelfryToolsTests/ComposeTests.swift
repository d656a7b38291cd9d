import Testing
import Yams

/// The installation of Deploy/compose.yaml: who sees which files.
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
    ]

    private func services() throws -> [String: Service] {
        let file = try Yams.load(yaml: Repository.text(of: "Deploy/compose.yaml")) as? [String: Any]
        let services = try #require(file?["services"] as? [String: Any])
        return try services.mapValues { try #require($0 as? Service) }
    }

    private func mounts(_ service: Service) throws -> [String] {
        try #require(service["volumes"] as? [String])
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
