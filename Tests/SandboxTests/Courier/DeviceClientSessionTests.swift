import Testing

@testable import Sandbox

/// The requests of the device client, and its end.
struct DeviceClientSessionTests {
    private let token = [UInt8](repeating: 7, count: 32)
    private let other = [UInt8](repeating: 8, count: 32)

    private func session(_ change: (inout DeviceClient.Settings) -> Void = { _ in }) -> DeviceClientSession {
        var settings = DeviceClient.Settings(pkiDirectory: "", port: 1, device: 7, topics: ["a", "b"])
        change(&settings)
        return DeviceClientSession(settings: settings)
    }

    private func notification(_ payload: [UInt8] = [5]) -> CourierMessage {
        let notification = CourierNotification(topic: "a", token: token, expiration: 9, priority: 5, payload: payload)
        return .notification(notification)
    }

    @Test("It registers its apps, and at the next connect presents the tokens it was given")
    func reconnects() {
        var session = session()
        let first = session.connected()
        #expect(first.requests == [.register(topic: "a"), .register(topic: "b")])
        let given = session.receive(.token(topic: "a", token: token), nowMilliseconds: 0)
        #expect(given.reports == [.token(topic: "a", token: token)])
        let second = session.connected()
        #expect(second.requests == [.present(token: token), .register(topic: "b")])
    }

    @Test("A token that is given is presented, and nothing is registered instead when it is refused")
    func givenToken() {
        var session = session { $0.token = token }
        let first = session.connected()
        #expect(first.requests == [.present(token: token)])
        for code in CourierRefusal.Code.allCases {
            let output = session.receive(.refused(CourierRefusal(code: code, text: "no")), nowMilliseconds: 0)
            #expect(output == DeviceClientSession.Output(end: .refused("no")))
        }
    }

    @Test("A token of its own that became outdated is replaced by asking again")
    func outdated() {
        var session = session()
        _ = session.receive(.token(topic: "a", token: token), nowMilliseconds: 0)
        _ = session.receive(.token(topic: "b", token: token), nowMilliseconds: 0)
        _ = session.connected()
        _ = session.receive(.presented(topic: "b"), nowMilliseconds: 0)
        let outdated = CourierRefusal(code: .outdatedToken, text: "")
        let again = session.receive(.refused(outdated), nowMilliseconds: 0)
        #expect(again == DeviceClientSession.Output(requests: [.register(topic: "a")]))
        let given = session.receive(.token(topic: "a", token: other), nowMilliseconds: 0)
        #expect(given.reports == [.token(topic: "a", token: other)])
    }

    @Test("A final refusal is the end, a lost connection is not")
    func refused() {
        var session = session()
        let output = session.receive(.refused(CourierRefusal(code: .replaced, text: "why")), nowMilliseconds: 0)
        #expect(output.end == .refused("why"))
    }

    @Test("It ends after as many notifications as it was told, over all connections")
    func count() {
        var session = session { $0.count = 2 }
        let first = session.receive(notification(), nowMilliseconds: 77)
        let report = DeviceNotification(
            topic: "a",
            token: token,
            expiration: 9,
            priority: 5,
            payload: [5],
            receivedMilliseconds: 77
        )
        #expect(first == DeviceClientSession.Output(reports: [.notification(report)]))
        _ = session.connected()
        let second = session.receive(notification(), nowMilliseconds: 78)
        #expect(second.end == .done)
    }

    @Test("With a count of 0 it ends as soon as all tokens are known")
    func countZero() {
        var session = session { $0.count = 0 }
        let first = session.receive(.token(topic: "a", token: token), nowMilliseconds: 0)
        #expect(first.end == nil)
        let second = session.receive(.token(topic: "b", token: token), nowMilliseconds: 0)
        #expect(second.end == .done)
    }

    @Test("Restore, wipe and unregister are asked for once, until they are answered")
    func errands() {
        let table: [(DeviceClient.Errand, (String) -> CourierRequest)] = [
            (.restore, { .restore(topic: $0) }), (.wipe, { .wipe(topic: $0) }),
        ]
        for (errand, request) in table {
            var session = session { $0.errand = errand }
            let first = session.connected()
            #expect(first.requests == [request("a"), request("b")])
            _ = session.receive(.token(topic: "a", token: token), nowMilliseconds: 0)
            let second = session.connected()
            #expect(second.requests == [.present(token: token), request("b")])
        }
        var leaving = session { $0.errand = .unregister }
        _ = leaving.connected()
        let first = leaving.receive(.unregistered(topic: "a"), nowMilliseconds: 0)
        #expect(first == DeviceClientSession.Output(reports: [.unregistered(topic: "a")]))
        let second = leaving.receive(.unregistered(topic: "b"), nowMilliseconds: 0)
        #expect(second.end == .done)
    }

    @Test("Waits double up to half a minute, with jitter, and begin anew after a useful connection")
    func backOff() {
        var session = session()
        let waits = [0.0, 0.999, 0, 0, 0, 0, 0, 0].map { session.disconnected(random: $0) }
        let expected = [250, 999, 1000, 2000, 4000, 8000, 16_000, 16_000].map { Duration.milliseconds($0) }
        #expect(waits == expected)
        _ = session.receive(.presented(topic: "a"), nowMilliseconds: 0)
        let next = session.disconnected(random: 0)
        #expect(next == .milliseconds(250))
    }

    @Test("What is printed as JSON says the payload as text, or in base64 when it is none")
    func json() {
        #expect(
            DeviceReport.token(topic: "a", token: [0xab, 1]).json == #"{"token":"ab01","topic":"a"}"#
        )
        #expect(DeviceReport.unregistered(topic: "a").json == #"{"topic":"a","unregistered":true}"#)
        func line(_ payload: [UInt8], expiration: UInt32 = 2) -> String {
            DeviceReport.notification(
                DeviceNotification(
                    topic: "a",
                    token: [1],
                    expiration: expiration,
                    priority: 10,
                    payload: payload,
                    receivedMilliseconds: 1_366_709_400_003
                )
            ).json
        }
        let head = #"{"expiration":"1970-01-01T00:00:02.000Z","#
        let tail = #","priority":10,"received":"2013-04-23T09:30:00.003Z","token":"01","topic":"a"}"#
        #expect(line(Array(#"{"aps":{}}"#.utf8)) == head + #""payload":"{\"aps\":{}}""# + tail)
        #expect(line([0xff, 0xfe]) == head + #""payloadBase64":"//4=""# + tail)
        for expiration in [0, .max] as [UInt32] {
            #expect(line([], expiration: expiration) == #"{"payload":"""# + tail)
        }
        let labelled = DeviceNotification(
            topic: "a",
            token: [1],
            expiration: 0,
            priority: 1,
            pushType: "voip",
            collapseID: Array("game".utf8),
            payload: Array("{}".utf8),
            receivedMilliseconds: 0
        )
        #expect(
            DeviceReport.notification(labelled).json
                == #"{"collapseID":"game","payload":"{}","priority":1,"pushType":"voip","#
                + #""received":"1970-01-01T00:00:00.000Z","token":"01","topic":"a"}"#
        )
        #expect(DeviceReport.notification(labelled).text == "a  priority 1  voip  collapse game  {}")
    }
}
