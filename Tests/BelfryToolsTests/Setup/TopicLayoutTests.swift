import Testing

@testable import PushTopics

@Suite("The topics of the contract")
struct TopicLayoutTests {
    @Test("Tombstones and levers are compacted; where a record's time is a witness, it is the broker's; that is all")
    func layout() {
        let layout = TopicLayout(partitions: 12)
        #expect(
            Set(layout.topics.map(\.name)) == [
                "push.requests.urgent", "push.requests", "push.requests.bulk", "push.registrations", "push.feedback",
                "push.tombstones", "push.outcomes", "push.dead-letters", "push.controls",
            ]
        )
        #expect(layout.topics.count == 9)
        #expect(layout.topics.allSatisfy { $0.partitions == ($0.name == "push.controls" ? 1 : 12) })
        let brokerTime = TopicLayout.Setting(name: "message.timestamp.type", value: "LogAppendTime")
        let compaction = TopicLayout.Setting(name: "cleanup.policy", value: "compact")
        let settings: [String: [TopicLayout.Setting]] = [
            "push.registrations": [brokerTime],
            "push.tombstones": [compaction, brokerTime],
            "push.controls": [compaction, brokerTime],
        ]
        for topic in layout.topics {
            #expect(topic.configuration == settings[topic.name] ?? [])
            #expect(topic.configuration.map(\.name) == topic.configuration.map(\.name).sorted())
        }
    }

    @Test("A lane's Kafka topic is made as that of the normal lane, and is right with any number of partitions")
    func lanes() throws {
        let topics = TopicLayout(partitions: 12, names: TopicNames(prefix: "a.")).topics
        for name in ["a.push.requests.urgent", "a.push.requests.bulk"] {
            let topic = try #require(topics.first { $0.name == name })
            #expect(topic.partitions == 12 && topic.configuration.isEmpty && topic.takesAnyPartitions)
        }
        #expect(topics.first { $0.name == "a.push.requests" }?.takesAnyPartitions == false)
    }

    @Test("The lanes that have a Kafka topic are found in their order, behind the prefix")
    func lanesFound() {
        let there = ["a.push.requests.bulk": 3, "a.push.requests": 4, "push.requests.urgent": 1]
        #expect(TopicNames(prefix: "a.").lanes(in: there) == [.normal, .bulk])
        #expect(TopicNames().lanes(in: there) == [.urgent] && TopicNames().lanes(in: [:]).isEmpty)
    }
}
