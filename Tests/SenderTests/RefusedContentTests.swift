import PipelineCore
import PushTopics
import Testing

@testable import Sender

/// Dead letters for refusals of one record that come one after the other.
@Suite("Refused content")
struct RefusedContentTests {
    private static let count: UInt32 = 100

    private var refused = RefusedContent()
    private var done: Set<UInt32> = []
    private var letters: [RefusedContent.Refused] = []

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private mutating func take(_ letter: RefusedContent.Refused) {
        letters.append(letter)
        for run in letter.tokens.runs { done.formUnion(run) }
    }

    private mutating func refuse(_ token: UInt32, for reason: String = "a", at seconds: Int64) {
        let reference = NotificationReference(assignment: 1, record: 2, token: token)
        let refusal = RecordRefusal(reason: reason, detail: "")
        _ = refused.add(reference, status: 7, refusal, now: at(seconds))
        let open = Int(Self.count) - done.count
        if let letter = refused.takeRecord(of: reference, reason: reason, ifComplete: open) { take(letter) }
    }

    private mutating func wait(until seconds: Int64, isHurried: Bool = false) {
        let open = Int(Self.count) - done.count
        let due = refused.takeDue(now: at(seconds), isHurried: isHurried) { _, _ in open }
        for letter in due { take(letter) }
    }

    @Test("A record whose tokens are refused for minutes has two dead letters, with each token in one")
    mutating func slow() {
        for token in 0..<Self.count {
            refuse(token, at: Int64(token) * 2)
            wait(until: Int64(token) * 2 + 1)
        }
        #expect(letters.map(\.tokens.text) == ["0-2", "3-99"])
        wait(until: 1000)
        #expect(letters.count == 2 && refused.isEmpty)
    }

    @Test("Refusals for several reasons do not wait for each other")
    mutating func reasons() {
        for token in 0..<2 as Range<UInt32> { refuse(token, for: "\(token)", at: 0) }
        wait(until: 5)
        #expect(letters.map(\.tokens.text) == ["0", "1"])
        for token in 2..<Self.count { refuse(token, for: "\(token % 2)", at: 6) }
        wait(until: 7)
        #expect(letters.count == 4 && done.count == Int(Self.count) && refused.isEmpty)
    }

    @Test("A partition that is given back waits for no further refusals")
    mutating func hurried() {
        refuse(0, at: 0)
        wait(until: 5)
        refuse(1, at: 6)
        wait(until: 600)
        #expect(letters.count == 1)
        wait(until: 600, isHurried: true)
        #expect(letters.map(\.tokens.text) == ["0", "1"])
    }
}
