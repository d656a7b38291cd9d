import BelfrySupport
import Testing

@testable import BelfryTools

@Suite("Orders to the management of channels")
struct ChannelOrderTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="

    private func message(_ order: ChannelOrder, authorization: String? = nil) -> LoneRequest.Message {
        order.message(bundleID: "com.example.news", authority: "host:2196", authorization: authorization)
    }

    private func report(
        _ order: ChannelOrder,
        _ status: Int,
        channel: String? = nil,
        body: String = ""
    ) throws(ToolError) -> ChannelReport {
        try order.report(LoneRequest.Answer(status: status, channel: channel, body: Array(body.utf8)))
    }

    @Test("To create is to post the policy for messages; the answer names the channel")
    func create() throws {
        for (stores, policy) in [(false, 0), (true, 1)] {
            let message = message(.create(storesMessages: stores))
            #expect(message.method == "POST" && message.path == "/1/apps/com.example.news/channels")
            #expect(message.authority == "host:2196" && message.headers.isEmpty)
            let body = String(decoding: message.body, as: UTF8.self)
            #expect(body == #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
        }
        let report = try report(.create(storesMessages: false), 201, channel: Self.channel)
        #expect(report.text == [Self.channel] && report.json == [#"{"channel":"\#(Self.channel)"}"#])
        #expect(throws: ToolError.refused("the service named no channel in its answer")) {
            try self.report(.create(storesMessages: false), 201)
        }
    }

    @Test("To list is to get all channels")
    func list() throws {
        let message = message(.list, authorization: "bearer x")
        #expect(message.method == "GET" && message.path == "/1/apps/com.example.news/all-channels")
        #expect(message.headers.map(\.name) == ["authorization"] && message.body.isEmpty)
        #expect(try report(.list, 200, body: #"{"channels":["AAAA","BBBB"]}"#).text == ["AAAA", "BBBB"])
        #expect(try report(.list, 200, body: #"{"channels":[]}"#).json == [])
        #expect(throws: ToolError.refused("the service's list of channels cannot be read")) {
            try self.report(.list, 200, body: "[]")
        }
    }

    @Test("To delete is to name the channel in a header")
    func delete() throws {
        let message = message(.delete(channel: Self.channel))
        #expect(message.method == "DELETE" && message.path == "/1/apps/com.example.news/channels")
        #expect(message.headers.map(\.value) == [Self.channel])
        #expect(try report(.delete(channel: Self.channel), 204).text == [Self.channel])
    }

    @Test("A channel id that is none is told before anything is sent")
    func wrongChannel() throws {
        try ChannelOrder.delete(channel: Self.channel).checked()
        #expect(throws: ToolError.invalidInput([#"channel: found "x"; allowed: base64, 4 to 100 characters"#])) {
            try ChannelOrder.delete(channel: "x").checked()
        }
    }

    @Test("A refusal is told with status and reason; a channel that is not there is not found")
    func refusals() {
        #expect(throws: ToolError.notFound("the service answered 400 ChannelNotRegistered")) {
            try report(.delete(channel: Self.channel), 400, body: #"{"reason":"ChannelNotRegistered"}"#)
        }
        #expect(throws: ToolError.refused("the service answered 403 TopicMismatch")) {
            try report(.list, 403, body: #"{"reason":"TopicMismatch"}"#)
        }
        #expect(throws: ToolError.refused("the service answered 502 without a reason")) {
            try report(.list, 502, body: "<html>")
        }
    }
}
