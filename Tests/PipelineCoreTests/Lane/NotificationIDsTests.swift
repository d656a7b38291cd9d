import APNsProtocol
import PipelineCore
import Testing

@Suite struct NotificationIDsTests {
    private static let token = [UInt8](0..<32)

    private func id(
        _ kafkaTopic: String = "push.requests",
        _ partition: Int32 = 7,
        _ offset: Int64 = 123_456_789,
        _ requestID: String = "req-1",
        token: [UInt8] = Self.token,
        index: UInt32 = 3
    ) -> NotificationID {
        let ids = Array(kafkaTopic.utf8).withUnsafeBytes { kafkaTopic in
            Array(requestID.utf8).withUnsafeBytes { requestID in
                NotificationIDs(kafkaTopic: kafkaTopic, partition: partition, offset: offset, requestID: requestID)
            }
        }
        return token.withUnsafeBytes { ids.id(token: $0, index: index) }
    }

    @Test("The derivation is the documented one: another program computes the same")
    func vectors() {
        // Made in Python, with a SipHash of its own.
        #expect(id().text() == "d95c9c93-38e6-807a-9459-ebb7c6b37d5a")
        #expect(id("push.requests", 0, 0, "", index: 0).text() == "23cbebcb-8fa0-89d6-b9d8-3ba326428a9a")
    }

    @Test("An attempt changes nothing: the same notification has the same id")
    func attempts() {
        #expect(id() == id())
    }

    @Test("Everything that tells notifications apart counts, and nothing runs into its neighbour")
    func differences() {
        let ids = [
            id(), id("push.request", 7, 123_456_789, "req-1"), id("push.requests", 8), id("push.requests", 7, 1),
            id("push.requests", 7, 123_456_789, "req-2"), id("push.requests", 7, 123_456_789, ""),
            id(token: [UInt8](1..<33)), id(token: [UInt8](0..<31)), id(index: 4),
            id("a", 0, 0, "b"), id("", 0, 0, "ab"), id("ab", 0, 0, ""),
        ]
        #expect(Set(ids).count == ids.count)
    }
}
