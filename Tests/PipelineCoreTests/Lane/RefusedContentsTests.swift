import APNsProtocol
import Testing

@testable import PipelineCore

/// Contents that a gateway refuses for every token.
@Suite struct RefusedContentsTests {
    private var contents = RefusedContents()
    private let start = MonotonicTime(nanoseconds: 0)

    private func content(_ text: String, priority: NotificationPriority = .immediate) -> RefusedContents.Content {
        let payload = Array(text.utf8)
        let token = [UInt8](repeating: 7, count: 32)
        let bytes = NotificationFrame.command2Bytes(tokenBytes: 32, payloadBytes: payload.count)
        return withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 1) { room in
            payload.withUnsafeBytes { payload in
                token.withUnsafeBytes { token in
                    _ = NotificationFrame.encodeCommand2(
                        identifier: 1,
                        token: token,
                        payload: payload,
                        expiration: 5,
                        priority: priority,
                        into: room
                    )
                }
            }
            return RefusedContents.Content(of: UnsafeRawBufferPointer(room))
        }
    }

    private func place(_ record: UInt32, _ token: UInt32) -> NotificationReference {
        NotificationReference(assignment: 1, record: record, token: token)
    }

    /// - Returns: that condemned something.
    private mutating func refuse(
        _ text: String,
        record: UInt32 = 1,
        token: UInt32,
        _ status: APNsStatus = .unknown
    ) -> Bool {
        _ = contents.suspect(content(text), of: place(record, token), now: start)
        return contents.refused(content(text), of: place(record, token), checksum: token, status: status)
    }

    private mutating func ends(_ text: String, record: UInt32 = 1) -> APNsStatus? {
        contents.end(content(text), of: place(record, 99))
    }

    @Test("Three tokens condemn their content, in any records, and no other content")
    mutating func condemned() {
        #expect(!refuse("a", record: 1, token: 1) && !refuse("a", record: 2, token: 1))
        #expect(!refuse("a", record: 3, token: 2) && !contents.isCondemning)
        #expect(refuse("a", record: 4, token: 3) && contents.isCondemning)
        #expect(ends("a", record: 5) == .unknown && ends("b", record: 4) == nil)
        #expect(content("a") != content("a", priority: .powerSaving))
    }

    @Test("Refusals with different statuses are different proofs")
    mutating func statuses() {
        #expect(!refuse("a", token: 1) && !refuse("a", token: 2))
        #expect(!refuse("a", token: 3, .invalidPayloadSize) && !refuse("a", token: 4, .invalidPayloadSize))
        #expect(refuse("a", token: 5, .invalidPayloadSize) && ends("a") == .invalidPayloadSize)
    }

    @Test("An acceptance clears the content, before it is condemned and after")
    mutating func cleared() {
        _ = refuse("a", token: 1)
        contents.accepted(content("a"), of: place(7, 7))
        for token in 2...9 as ClosedRange<UInt32> {
            let isCondemned = refuse("a", token: token)
            #expect(!isCondemned)
        }
        for token in 1...3 as ClosedRange<UInt32> { _ = refuse("b", record: 2, token: token) }
        #expect(ends("b") == .unknown)
        contents.accepted(content("b"), of: place(7, 7))
        #expect(ends("b") == nil && !contents.isCondemning)
    }

    @Test("Tokens with payloads of their own condemn their record, unless one of it was accepted")
    mutating func record() {
        for token in 1...7 as ClosedRange<UInt32> {
            let isCondemned = refuse("\(token)", token: token)
            #expect(!isCondemned)
        }
        #expect(refuse("8", token: 8) && ends("another") == .unknown && ends("another", record: 2) == nil)
        contents.accepted(content("9"), of: place(1, 9))
        #expect(ends("another") == nil)
    }

    @Test("While the gateway accepts nothing, no more than an allowance ends")
    mutating func allowance() {
        for token in 1...3 as ClosedRange<UInt32> { _ = refuse("a", token: token) }
        for _ in 0..<RefusedContents.allowance { _ = ends("a") }
        #expect(ends("a") == nil && !contents.isCondemning)
        #expect(contents.gatewayAccepts() && ends("a") == .unknown)
        let isNews = contents.gatewayAccepts()
        #expect(!isNews)
    }

    @Test("As many suspects are kept as there may be; with the next all former ones are forgotten")
    mutating func most() {
        // Each refusal makes two suspects: a content and its record.
        let last = UInt32(RefusedContents.most / 2)
        for record in 1...last { _ = refuse("\(record)", record: record, token: 1) }
        #expect(contents.mayConcern(place(1, 1), bytes: 99) && contents.mayConcern(place(last, 1), bytes: 99))
        _ = refuse("next", record: last + 1, token: 1)
        #expect(!contents.mayConcern(place(1, 1), bytes: 99) && !contents.mayConcern(place(last, 1), bytes: 99))
        #expect(contents.mayConcern(place(last + 1, 1), bytes: 99))
    }

    @Test("Suspects are forgotten in time, and when they are too many")
    mutating func forgotten() {
        for token in 1...3 as ClosedRange<UInt32> { _ = refuse("a", token: token) }
        contents.expire(now: start + .seconds(599))
        #expect(contents.isCondemning && contents.mayConcern(place(2, 1), bytes: 1))
        contents.expire(now: start + RefusedContents.memory)
        #expect(contents.isEmpty && !contents.isCondemning && !contents.mayConcern(place(2, 1), bytes: 1))
        for record in 1...1000 as ClosedRange<UInt32> { _ = refuse("\(record)", record: record, token: 1) }
        #expect(!contents.isEmpty && contents.mayConcern(place(1000, 1), bytes: 9))
    }
}
