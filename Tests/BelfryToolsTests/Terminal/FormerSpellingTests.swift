import BelfryTools
import Testing

/// Commands of the version before, in which an app was a topic.
struct FormerSpellingTests {
    @Test(
        "A command of the version before is spelt as it is now",
        arguments: [
            ("publish --topic a --token b", "publish --app a --token b"),
            ("outcomes --topic=a --topic b", "outcomes --app=a --app b"),
            ("topics pause a", "apps pause a"), ("topics levers", "apps levers"),
            ("plan --rate 1 --topics 3 --topics=4", "plan --rate 1 --apps 3 --apps=4"),
        ]
    )
    func former(words: String, present: String) {
        #expect(FormerSpelling.replaced(in: Self.split(words)) == Self.split(present))
    }

    @Test(
        "What is no spelling of the version before stays: the sandbox's options, Kafka's topics, and values",
        arguments: [
            "", "topics", "topics create --partitions 3", "sandbox tokens --topic a", "sandbox serve --topics a,b",
            "broker --topics a", "publish --app a --topical b", "publish --app a -- --topic", "apps pause topics",
        ]
    )
    func others(words: String) {
        #expect(FormerSpelling.replaced(in: Self.split(words)) == Self.split(words))
    }

    private static func split(_ words: String) -> [String] { words.split(separator: " ").map(String.init) }
}
