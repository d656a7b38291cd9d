import Foundation
import Testing

@testable import BelfrySupport

@Suite("Output at the end of a process", .timeLimit(.minutes(1)))
struct FinalFlushServerTests {
    @Test("Output that is taken succeeds, and output that fails does not")
    func taken() {
        #expect(FinalFlush.run(timeout: .seconds(30)) { true })
        #expect(!FinalFlush.run(timeout: .seconds(30)) { false })
    }

    @Test("A reader that stands still holds the process up no longer than the limit")
    func stalled() {
        let reader = DispatchSemaphore(value: 0)
        let isWritten = FinalFlush.run(timeout: .milliseconds(1)) {
            reader.wait()
            return true
        }
        #expect(!isWritten)
        // Lets the thread end.
        reader.signal()
    }
}
