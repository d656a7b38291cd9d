import Foundation
import Testing

@testable import BelfrySupport

@Suite("Words at the end of a process", .timeLimit(.minutes(1)))
struct LastWordsTests {
    @Test("Words that are taken are said, and ones that fail are not")
    func taken() {
        #expect(LastWords.say(within: .seconds(30)) { true })
        #expect(!LastWords.say(within: .seconds(30)) { false })
    }

    @Test("A reader who stands still holds nobody up")
    func stalled() {
        let reader = DispatchSemaphore(value: 0)
        let isSaid = LastWords.say(within: .milliseconds(1)) {
            reader.wait()
            return true
        }
        #expect(!isSaid)
        // Lets the thread end.
        reader.signal()
    }
}
