import Testing

@testable import BelfrySupport
@testable import PushTopics

/// The names of Kafka topics and consumer groups behind `kafka.prefix`.
@Suite struct PrefixTests {
    private func configuration(_ kafka: String) throws -> BelfryConfiguration {
        try BelfryConfiguration.load(
            yaml: "{kafka: {\(kafka)}, worker: {group-id: w}}",
            file: "belfry.yaml",
            directory: nil,
            variables: [:],
            requiresEnvironments: false
        )
    }

    @Test("Without a prefix the names are those of the contract; with one it stands before every topic and group")
    func names() throws {
        let plain = try configuration("")
        #expect(TopicNames(plain.kafka) == TopicNames() && TopicNames().requests == "push.requests")
        let registrar = ["belfry-registrar", "belfry-registrar-tombstones"]
        #expect(GroupNames(plain).all == ["w.urgent", "w", "w.bulk"] + registrar + ["belfry-harvester"])
        let prefixed = try configuration("prefix: a.")
        let all = [TopicNames(), TopicNames(prefixed.kafka)].map { names in
            Mirror(reflecting: names).children.filter { $0.label != "prefix" }.compactMap { $0.value as? String }
                + names.allRequests
        }
        #expect(all[1] == all[0].map { "a.\($0)" } && all[0].count == 10)
        let lanes = all[1].map(TopicNames(prefixed.kafka).lane)
        #expect(lanes.compactMap(\.self) == [.normal, .urgent, .normal, .bulk])
        #expect(GroupNames(prefixed).all == GroupNames(plain).all.map { "a.\($0)" })
        #expect(GroupNames.follower(prefixed.kafka, id: "1") == "a.belfry-outcomes-1")
        let layout = TopicLayout(partitions: 1, names: TopicNames(prefixed.kafka))
        #expect(layout.topics.allSatisfy { $0.name.hasPrefix("a.push.") })
    }

    @Test("A prefix has the letters that Kafka allows, and leaves room for the longest name within 249")
    func rule() throws {
        let longest = String(repeating: "p", count: KafkaSettings.prefixLimit)
        for prefix in ["a", "A-b_c.9", "..", longest] {
            #expect(try configuration("prefix: '\(prefix)'").kafka.prefix == prefix)
        }
        for prefix in ["a/b", "a b", "a:", "é", "a*", longest + "p"] {
            let error = #expect(throws: ConfigurationError.self) { try configuration("prefix: '\(prefix)'") }
            #expect(error?.problems.map(\.key) == ["kafka.prefix"], "\(prefix)")
            #expect(error?.problems.first?.allowed.hasPrefix("at most 100 letters, digits, dots, - and _") == true)
        }
        let kafka = try configuration("prefix: \(longest)").kafka
        let names = TopicLayout(partitions: 1, names: TopicNames(kafka)).topics.map(\.name)
        #expect(names.allSatisfy { $0.utf8.count <= 249 })
        #expect(GroupNames.follower(kafka, id: String(repeating: "u", count: 36)).utf8.count <= 249)
    }

    @Test("Installations of one cluster are told apart by their prefix, so that none goes on with another's checkpoint")
    func place() throws {
        #expect(KafkaSettings().place == KafkaSettings().brokers)
        #expect(try configuration("prefix: a.").kafka.place == "127.0.0.1:9092, prefix a.")
    }
}
