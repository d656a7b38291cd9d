import BelfrySupport
import Testing

@testable import Sender

/// A log that would lose notifications, which a worker refuses to begin with.
@Suite("The check of the log at the start")
struct LogCheckTests {
    /// The sentence of a refusal of the configuration, which ends the role with exit code 78; nil: the check passed, or
    /// failed in another way.
    private func refusal(_ check: () throws -> Void) -> String? {
        do {
            try check()
            return nil
        } catch {
            return (error as? ConfigurationError).map { "\($0)" }
        }
    }

    @Test("A compacted push.requests is a wrong configuration, and one that only deletes is not")
    func compacted() throws {
        for policy in ["compact", "compact,delete"] {
            let text = refusal { try LogCheck.checkCleanup(["cleanup.policy": policy], of: "push.requests") }
            let sentence = try #require(text)
            #expect(sentence.contains("push.requests: cleanup.policy") && sentence.contains("found \(policy);"))
            #expect(sentence.contains("compaction deletes notifications that were not sent"))
        }
        for settings in [["cleanup.policy": "delete"], [:]] {
            try LogCheck.checkCleanup(settings, of: "push.requests")
        }
    }
}
