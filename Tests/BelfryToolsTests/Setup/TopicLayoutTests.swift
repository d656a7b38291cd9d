import Testing

@testable import PushTopics

@Suite("The topics of the contract")
struct TopicLayoutTests {
    @Test("Tombstones and levers are compacted; where a record's time is a witness, it is the broker's; that is all")
    func layout() {
        let layout = TopicLayout(partitions: 12)
        #expect(
            Set(layout.topics.map(\.name)) == [
                "push.requests", "push.registrations", "push.feedback", "push.tombstones", "push.outcomes",
                "push.dead-letters", "push.controls",
            ]
        )
        #expect(layout.topics.count == 7)
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
}
