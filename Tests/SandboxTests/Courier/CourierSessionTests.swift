import APNsProtocol
import Testing

@testable import Sandbox

/// Requests that a device may make on its connection, and their answers.
struct CourierSessionTests {
    private let fixture = CourierFixture()
    private let topic = CourierFixture.topics[0]

    @Test("A new app instance gets its token, and what is sent to that token")
    func register() {
        let device = fixture.connect(7)
        let answer = CourierMessage.token(topic: topic, token: fixture.token(7))
        #expect(device.say(.register(topic: topic)) == CourierSession.Output(messages: [answer]))
        fixture.send("one", to: fixture.token(7))
        fixture.send("other", to: fixture.token(8))
        fixture.send("two", to: fixture.token(7))
        #expect(device.fetch() == ["one", "two"])
        #expect(device.fetch() == [])
    }

    @Test("A notification says its topic, token, expiration, priority and payload")
    func notification() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic))
        fixture.send("one", to: fixture.token(7), expiration: CourierFixture.now + 60)
        let notification = CourierNotification(
            topic: topic,
            token: fixture.token(7),
            expiration: CourierFixture.now + 60,
            priority: 10,
            payload: Array("one".utf8)
        )
        #expect(device.collect().messages == [.notification(notification)])
    }

    @Test("A device that presents its token is online for that topic alone")
    func present() {
        fixture.withLedger(of: 0) { $0.set(7, .offline, now: CourierFixture.now) }
        fixture.withLedger(of: 1) { $0.set(7, .offline, now: CourierFixture.now) }
        let device = fixture.connect(7)
        #expect(device.say(.present(token: fixture.token(7))).messages == [.presented(topic: topic)])
        #expect(fixture.ledgers[0].population.reachability(of: AppInstance(device: 7)) == .online)
        #expect(fixture.ledgers[1].population.reachability(of: AppInstance(device: 7)) == .offline)
    }

    @Test("The token of another device, or none at all, is refused, and that is the end")
    func foreignToken() {
        var forged = fixture.token(7)
        forged[31] ^= 1
        for token in [fixture.token(8), forged, [1, 2, 3]] {
            let device = fixture.connect(7)
            let output = device.say(.present(token: token), .register(topic: topic))
            #expect(output.refusal == .foreignToken)
            #expect(output.isLast)
            #expect(device.say(.register(topic: topic)) == CourierSession.Output())
        }
        #expect(fixture.ledgers[0].outbox.isEmpty)
    }

    @Test("A device whose token is outdated is told so, and can ask for the one it has now")
    func outdatedToken() {
        fixture.withLedger(of: 0) { $0.population.renew(7) }
        let device = fixture.connect(7)
        let refused = device.say(.present(token: fixture.token(7)))
        #expect(refused.refusal == .outdatedToken)
        #expect(!refused.isLast)
        #expect(fixture.ledgers[0].outbox.isEmpty, "it is not online with it")
        let answer = CourierMessage.token(topic: topic, token: fixture.token(7, generation: 1))
        #expect(device.say(.register(topic: topic)).messages == [answer])
    }

    @Test("A device that was restored or wiped has another token; the old one is invalid from then on")
    func renewed() {
        for (generation, request) in [(1, CourierRequest.restore(topic: topic)), (2, .wipe(topic: topic))] {
            let device = fixture.connect(7)
            let token = fixture.token(7, generation: UInt8(generation))
            #expect(device.say(request).messages == [.token(topic: topic, token: token)])
            let old = fixture.token(7, generation: UInt8(generation - 1))
            #expect(fixture.send("old", to: old) == .invalidToken)
            #expect(fixture.send("new", to: token) == nil)
            #expect(device.fetch() == ["new"])
            device.end()
        }
    }

    @Test("An app that was uninstalled is a matter for the feedback list until it registers again")
    func unregister() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic))
        #expect(device.say(.unregister(topic: topic)).messages == [.unregistered(topic: topic)])
        fixture.send("one", to: fixture.token(7))
        #expect(fixture.ledgers[0].counters.feedback == 1)
        #expect(device.fetch() == [])
        #expect(device.say(.present(token: fixture.token(7))).refusal == .notInstalled)
        #expect(device.say(.register(topic: topic)).messages == [.token(topic: topic, token: fixture.token(7))])
        fixture.send("two", to: fixture.token(7))
        #expect(device.fetch() == ["two"])
    }

    @Test("An app that is uninstalled stays so when its connection ends")
    func uninstalledAtTheEnd() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic), .unregister(topic: topic))
        device.end()
        #expect(fixture.ledgers[0].population.reachability(of: AppInstance(device: 7)) == .uninstalled)
    }

    @Test("What was stored while the device was away is there when it presents its token")
    func stored() {
        fixture.withLedger(of: 0) { $0.set(7, .offline, now: CourierFixture.now) }
        fixture.send("older", to: fixture.token(7))
        fixture.send("newer", to: fixture.token(7))
        let device = fixture.connect(7)
        #expect(device.fetch() == [], "before it presented anything")
        _ = device.say(.present(token: fixture.token(7)))
        #expect(device.fetch() == ["newer"])
        #expect(fixture.isBalanced())
    }

    @Test("When the connection ends the device is offline, and what it has not taken is stored again")
    func leaves() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic))
        for payload in ["one", "two", "three"] { fixture.send(payload, to: fixture.token(7)) }
        fixture.send("never stored", to: fixture.token(7), expiration: 0)
        device.end()
        device.end()
        let counters = fixture.ledgers[0].counters
        #expect(counters.delivered == 0)
        #expect(counters.stored == 1)
        #expect(counters.coalesced == 2)
        #expect(counters.expired == 1)
        #expect(fixture.isBalanced())
        #expect(fixture.ledgers[0].outbox.isEmpty)
        let again = fixture.connect(7)
        _ = again.say(.present(token: fixture.token(7)))
        #expect(again.fetch() == ["three"])
    }

    @Test("The newer of two connections of a device takes over, with what the older one has not taken")
    func takeover() {
        let older = fixture.connect(7)
        _ = older.say(.register(topic: topic))
        fixture.send("one", to: fixture.token(7))
        let newer = fixture.connect(7)
        _ = newer.say(.present(token: fixture.token(7)))
        #expect(older.fetch() == [], "its place is taken")
        let farewell = older.replace()
        #expect(farewell.refusal == .replaced)
        #expect(farewell.isLast)
        older.end()
        fixture.send("two", to: fixture.token(7))
        #expect(newer.fetch() == ["one", "two"])
        #expect(fixture.ledgers[0].population.reachability(of: AppInstance(device: 7)) == .online)
    }

    @Test("An older connection cannot take the place back")
    func noWayBack() {
        let older = fixture.connect(7)
        let newer = fixture.connect(7)
        _ = newer.say(.register(topic: topic))
        for request in [
            CourierRequest.present(token: fixture.token(7)), .register(topic: topic), .wipe(topic: topic),
        ] {
            #expect(CourierLine(older.session, fixture).say(request).refusal == .replaced)
        }
        fixture.send("one", to: fixture.token(7))
        #expect(newer.fetch() == ["one"])
    }

    @Test("What cannot be understood, or names a topic that is not served, ends the connection with the reason")
    func badRequests() {
        #expect(fixture.connect(7).say([99, 0, 0]).refusal == .malformed)
        #expect(fixture.connect(7).say([1, 0xff, 0xff]).refusal == .malformed)
        let device = fixture.connect(7)
        #expect(device.say(.register(topic: "com.example.unknown")).refusal == .unknownTopic)
        #expect(device.session.isFinished)
    }

    @Test("A device that presents nothing is not waited for, whether it is silent or talks")
    func presentsNothing() {
        let silent = fixture.connect(7)
        #expect(silent.presentationIsDue().refusal == .notPresented)
        let online = fixture.connect(8)
        _ = online.say(.register(topic: topic))
        #expect(online.presentationIsDue() == CourierSession.Output())

        fixture.withLedger(of: 0) { $0.population.renew(9) }
        let talker = fixture.connect(9)
        let outdated = CourierRequest.present(token: fixture.token(9)).encoded
        for _ in 0..<SandboxLimits.framesBeforePresentation { #expect(!talker.say(outdated).isLast) }
        #expect(talker.say(outdated).refusal == .notPresented)
    }

    @Test("A device that does not fetch holds no more than the limit, and its connection ends")
    func overrun() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic))
        let payload = String(repeating: "x", count: 2048)
        let count = SandboxLimits.courierPendingBytes / 2048 + 10
        for _ in 0..<count { fixture.send(payload, to: fixture.token(7)) }
        #expect(fixture.ledgers[0].outbox.dropped > 0)
        let output = device.collect()
        #expect(output.refusal == .tooSlow)
        #expect(output.isLast)
        device.end()
        #expect(fixture.ledgers[0].counters.stored == 1)
        #expect(fixture.ledgers[0].counters.delivered == fixture.ledgers[0].outbox.dropped)
        #expect(fixture.isBalanced())
    }

    @Test("The control port's word counts for a connected device too: offline is stored, online is delivered")
    func controlled() {
        let device = fixture.connect(7)
        _ = device.say(.register(topic: topic))
        fixture.withLedger(of: 0) { $0.set(7, .offline, now: CourierFixture.now) }
        fixture.send("one", to: fixture.token(7))
        #expect(device.fetch() == [])
        fixture.withLedger(of: 0) { $0.set(7, .online, now: CourierFixture.now) }
        #expect(device.fetch() == ["one"])
    }
}
