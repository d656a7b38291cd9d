import APNsProtocol
import Testing

@testable import Sandbox

/// The feedback service over real TLS.
struct FeedbackServerTests {
    /// Sends to these devices and returns when the gateway has taken all of it.
    private func send(_ sandbox: RunningSandbox, _ devices: Range<UInt32>) async throws {
        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
        provider.send(
            try devices.flatMap { Frame.command2(identifier: $0 + 1, token: try sandbox.token($0)) }
                + Frame.sentinel(identifier: 1)
        )
        _ = try await provider.end.get()
    }

    private func tuple(_ sandbox: RunningSandbox, _ device: UInt32) throws -> [UInt8] {
        FeedbackTuple(timestamp: TopicFixture.now, token: try sandbox.token(device)).encoded
    }

    @Test("It writes the topic's list at once and closes; the list is cleared by reading")
    func readAndClear() async throws {
        try await RunningSandbox.run { sandbox in
            let change = #"{"topic":"com.example.a","first":3,"count":2,"state":"uninstalled"}"#
            #expect(try await sandbox.control("POST", "/devices", change) == (200, #"{"changed":2}"#))
            try await send(sandbox, 0..<10)

            let other = try await sandbox.connect(to: sandbox.server.ports.feedback, topic: "com.example.b")
            #expect(try await other.end.get().bytes.isEmpty, "each topic has its own list")

            let first = try await sandbox.connect(to: sandbox.server.ports.feedback).end.get()
            #expect(first.bytes == (try tuple(sandbox, 3) + tuple(sandbox, 4)))
            #expect(first.error == nil)

            let second = try await sandbox.connect(to: sandbox.server.ports.feedback).end.get()
            #expect(second.bytes.isEmpty)
            #expect(second.error == nil)
            #expect(try await sandbox.stats()["feedback"] == .integer(2))
        }
    }

    @Test("A list larger than any buffer arrives whole")
    func largeList() async throws {
        let devices = 20_000
        try await RunningSandbox.run(devices: devices) { sandbox in
            let change = #"{"topic":"com.example.a","first":0,"count":\#(devices),"state":"uninstalled"}"#
            #expect(try await sandbox.control("POST", "/devices", change).status == 200)
            try await send(sandbox, 0..<UInt32(devices))
            let end = try await sandbox.connect(to: sandbox.server.ports.feedback).end.get()
            #expect(end.bytes.count == devices * 38)
            #expect(try end.bytes.suffix(38) == tuple(sandbox, UInt32(devices - 1))[...])
            #expect(end.error == nil)
        }
    }

    @Test("Apps can be listed without a notification; what was taken, and what arrived, is counted")
    func listedByHand() async throws {
        let devices = 5000
        try await RunningSandbox.run(devices: devices) { sandbox in
            let order = #"{"topic":"com.example.a","first":0,"count":\#(devices),"timestamp":7}"#
            #expect(try await sandbox.control("POST", "/feedback", order) == (200, #"{"listed":5000}"#))
            #expect(try await sandbox.feedbackList() == ["waiting": 5000, "taken": 0, "arrived": 0])
            let end = try await sandbox.connect(to: sandbox.server.ports.feedback).end.get()
            #expect(end.bytes.prefix(38) == FeedbackTuple(timestamp: 7, token: try sandbox.token(0)).encoded[...])
            #expect(end.bytes.count == devices * 38)
            try await sandbox.wait(for: #""open":0"#)
            #expect(try await sandbox.feedbackList() == ["waiting": 0, "taken": 5000, "arrived": 5000])
            #expect(try await sandbox.stats()["feedback"] == .integer(0), "no notification found it")
        }
    }

    @Test(
        "A wrong /feedback request names the field",
        arguments: [
            (#"{"topic":"x","first":0,"count":1}"#, "topic"), (#"{"topic":"com.example.a","count":1}"#, "first"),
            (#"{"topic":"com.example.a","first":999,"count":2}"#, "count"),
            (#"{"topic":"com.example.a","first":0,"count":1,"timestamp":-1}"#, "timestamp"),
        ]
    )
    func wrongOrder(body: String, field: String) async throws {
        try await RunningSandbox.run { sandbox in
            let answer = try await sandbox.control("POST", "/feedback", body)
            #expect(answer.status == 400)
            #expect(answer.body.contains("\"field\":\"\(field)\""))
        }
    }
}

extension RunningSandbox {
    fileprivate func feedbackList() async throws -> [String: Int] {
        guard case .object(let list)? = try await stats()["feedbackList"] else { return [:] }
        return list.compactMapValues { if case .integer(let count) = $0 { Int(count) } else { nil } }
    }
}
