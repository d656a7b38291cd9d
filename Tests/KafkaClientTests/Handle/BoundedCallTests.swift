import CRdKafka
import Dispatch
import Synchronization
import Testing

@testable import KafkaClient

@Suite("Calls of librdkafka that may never return", .timeLimit(.minutes(1)))
struct BoundedCallTests {
    private static func handle() throws -> KafkaHandle {
        let inbox = KafkaInbox()
        let configuration = try KafkaConfiguration([:], defaults: [:], isConsumer: true, inbox: inbox)
        return try configuration.makeHandle(inbox: inbox)
    }

    @Test("A call that returns is waited for, and one that does not return is left alone after its time")
    func limits() throws {
        let handle = try Self.handle()
        let calls = Atomic(0)
        #expect(
            BoundedCall.run(on: handle.pointer, until: .now + .seconds(60)) { _ in
                calls.add(1, ordering: .relaxed)
            }
        )
        #expect(calls.load(ordering: .relaxed) == 1)
        let never = DispatchSemaphore(value: 0)
        #expect(!BoundedCall.run(on: handle.pointer, until: .now + .milliseconds(10)) { _ in never.wait() })
        // Lets the thread end.
        never.signal()
    }

    @Test("A time that is over lets no call be waited for")
    func overdue() throws {
        let handle = try Self.handle()
        let never = DispatchSemaphore(value: 0)
        #expect(!BoundedCall.run(on: handle.pointer, until: .now - .seconds(1)) { _ in never.wait() })
        never.signal()
    }

    @Test("The inbox lives until librdkafka has let go of its client")
    func inbox() throws {
        weak var inbox: KafkaInbox?
        do {
            let handle = try Self.handle()
            inbox = handle.inbox
            #expect(inbox != nil)
        }
        #expect(inbox == nil)
    }
}
