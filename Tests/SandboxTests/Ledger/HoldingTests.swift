import APNsProtocol
import Testing

@testable import Sandbox

/// Priorities, and what the device makes of a notification [13] [talk].
struct HoldingTests {
    private let fixture = TopicFixture()
    private let now = TopicFixture.now

    @Test("Priority 5 is held until the next power-saving time, priority 10 is delivered at once")
    func held() {
        #expect(fixture.accept(device: 1, priority: .powerSaving))
        #expect(fixture.accept(device: 2, priority: .immediate))
        #expect(fixture.ledger.counters.held == 1)
        #expect(fixture.ledger.counters.stored == 1, "what is held is stored")
        #expect(fixture.ledger.counters.delivered == 1)
        fixture.ledger.releaseHeld(now: now + 10)
        #expect(fixture.ledger.counters.held == 0)
        #expect(fixture.ledger.counters.stored == 0)
        #expect(fixture.ledger.counters.delivered == 2)
    }

    @Test("What is held and what is stored share one place: the newer replaces the older")
    func oneSlot() {
        for n in 0..<3 { #expect(fixture.accept(device: 1, n: n, priority: .powerSaving)) }
        #expect(fixture.ledger.counters.coalesced == 2)
        #expect(fixture.ledger.store.payload(for: 1) == Frame.payload(n: 2))
        fixture.ledger.releaseHeld(now: now)
        #expect(fixture.ledger.counters.delivered == 1)
    }

    @Test("Priority 10 takes along what is held for its device, and nothing of others")
    func takenAlong() {
        #expect(fixture.accept(device: 1, priority: .powerSaving))
        #expect(fixture.accept(device: 2, priority: .powerSaving))
        #expect(fixture.accept(device: 1))
        #expect(fixture.ledger.counters.delivered == 2)
        #expect(fixture.ledger.counters.held == 1)
        fixture.ledger.releaseHeld(now: now)
        #expect(fixture.ledger.counters.delivered == 3)
    }

    @Test("Priority 5 that may not be stored is delivered at once")
    func notToBeHeld() {
        #expect(fixture.accept(device: 1, expiration: 0, priority: .powerSaving))
        #expect(fixture.ledger.counters.delivered == 1)
        #expect(fixture.ledger.counters.held == 0)
    }

    @Test("What is held when its device goes offline waits for its return, not for the power-saving time")
    func goesOffline() {
        #expect(fixture.accept(device: 1, priority: .powerSaving))
        fixture.ledger.set(1, .offline, now: now)
        #expect(fixture.ledger.counters.held == 0)
        #expect(fixture.ledger.counters.stored == 1)
        fixture.ledger.releaseHeld(now: now)
        #expect(fixture.ledger.counters.delivered == 0)
        fixture.ledger.set(1, .online, now: now)
        #expect(fixture.ledger.counters.delivered == 1)
    }

    @Test("What is held past its expiration is discarded at the power-saving time")
    func expires() {
        #expect(fixture.accept(device: 1, expiration: now + 5, priority: .powerSaving))
        fixture.ledger.releaseHeld(now: now + 5)
        #expect(fixture.ledger.counters.expired == 1)
        #expect(fixture.ledger.counters.delivered == 0)
    }

    @Test("A release in slices looks at each device once, in the order in which they came")
    func slices() {
        for device in 0..<10 as Range<UInt32> {
            #expect(fixture.accept(device: device, priority: .powerSaving))
            #expect(fixture.accept(device: device, priority: .powerSaving))
        }
        #expect(fixture.ledger.heldDevices.count == 10)
        #expect(fixture.ledger.releaseHeld(now: now, atMost: 4) == 4)
        #expect((0..<10).filter { fixture.ledger.store.item(for: $0) == nil } == [0, 1, 2, 3])
        #expect(fixture.accept(device: 0, priority: .powerSaving))
        #expect(fixture.ledger.releaseHeld(now: now, atMost: 6) == 6)
        #expect(fixture.ledger.counters.held == 1, "what came meanwhile waits for the next time")
        #expect(fixture.ledger.releaseHeld(now: now) == 1)
        #expect(fixture.ledger.releaseHeld(now: now) == 0)
    }

    @Test("Devices that are held over and over stand in the queue once")
    func boundedQueue() {
        for _ in 0..<1000 {
            #expect(fixture.accept(device: 1, priority: .powerSaving))
            #expect(fixture.accept(device: 1))
        }
        #expect(fixture.ledger.heldDevices.count == 1)
    }

    @Test(
        "Priority 10 with nothing to show is refused as a protocol error, and only that",
        arguments: [
            (#"{"aps":{"content-available":1}}"#, true), (#"{"aps":{"content-available":1,"category":"x"}}"#, true),
            (#"{"aps":{"\u0063ontent-available":1}}"#, true),
            (#"{"x":{"alert":"a"},"aps":{"content-available":1,"y":{"sound":""}}}"#, true),
            (#"{"aps":{"content-available":1,"alert":"a"}}"#, false),
            (#"{"aps":{"badge":0,"content-available":1}}"#, false),
            (#"{"aps":{"content-available":1,"sound":"default"}}"#, false),
            (#"{"aps":{"content-available":1,"\u0061lert":"a"}}"#, false), (#"{"aps":{}}"#, false),
            (#"{"aps":[{"content-available":1}]}"#, false), (#"{"content-available":1}"#, false),
            (#"{"aps":{"content-available":1}"#, false),
        ]
    )
    func nothingToShow(payload: String, isRefused: Bool) {
        let frame = Frame.command2(identifier: 7, token: fixture.token(1), payload: Array(payload.utf8))
        let refusal = ErrorResponse(status: .unknown, identifier: 7)
        let expected = isRefused ? GatewaySession.Action.finish(answer: refusal, delayMilliseconds: 0) : .read
        #expect(fixture.receive(frame) == expected)
        #expect(fixture.ledger.counters.accepted == (isRefused ? 0 : 1))
        #expect(fixture.accept(device: 1, payload: Array(payload.utf8), priority: .powerSaving))
    }

    @Test("The status for nothing to show is the one that is set")
    func protocolErrorStatus() {
        var settings = DeviceLedger.Settings()
        settings.protocolErrorStatus = .protocolError
        fixture.ledger = DeviceLedger(devices: 10, settings: settings)
        let payload = Array(#"{"aps":{"content-available":1}}"#.utf8)
        let frame = Frame.command2(identifier: 7, token: fixture.token(1), payload: payload)
        let refusal = ErrorResponse(status: .protocolError, identifier: 7)
        #expect(fixture.receive(frame) == .finish(answer: refusal, delayMilliseconds: 0))
    }

    @Test("Invalid JSON is accepted and delivered, and the device drops it: counted when it gets there")
    func invalidJSON() {
        let broken = Array(#"{"aps":{},}"#.utf8)
        #expect(fixture.accept(device: 1, payload: broken))
        #expect(fixture.ledger.counters.delivered == 1)
        #expect(fixture.ledger.counters.invalidJSON == 1)
        fixture.ledger.set(2, .offline, now: now)
        #expect(fixture.accept(device: 2, payload: broken))
        #expect(fixture.accept(device: 3, payload: broken, priority: .powerSaving))
        #expect(fixture.ledger.counters.invalidJSON == 1)
        fixture.ledger.set(2, .online, now: now)
        fixture.ledger.releaseHeld(now: now)
        #expect(fixture.ledger.counters.delivered == 3)
        #expect(fixture.ledger.counters.invalidJSON == 3)
    }

    @Test("The token of a removed device, and the old one of a restored device, are invalid")
    func invalidTokens() {
        let old = fixture.token(1)
        let refusal = ErrorResponse(status: .invalidToken, identifier: 7)
        fixture.ledger.set(1, .removed, now: now)
        #expect(
            fixture.receive(Frame.command2(identifier: 7, token: old)) == .finish(answer: refusal, delayMilliseconds: 0)
        )
        fixture.ledger.set(1, .online, now: now)
        #expect(fixture.accept(device: 1))
        let new = fixture.ledger.renew(1, now: now)
        #expect(new == AppInstance(device: 1, generation: 1))
        fixture.reconnect()
        #expect(
            fixture.receive(Frame.command2(identifier: 7, token: old)) == .finish(answer: refusal, delayMilliseconds: 0)
        )
        fixture.reconnect()
        #expect(fixture.receive(Frame.command2(identifier: 7, token: fixture.mint.token(of: new))) == .read)
    }

    @Test("What is stored for a device that is removed or renewed is discarded without feedback")
    func storedForTheGone() {
        for device in [1, 2] {
            fixture.ledger.set(device, .offline, now: now)
            #expect(fixture.accept(device: UInt32(device)))
        }
        fixture.ledger.set(1, .removed, now: now)
        fixture.ledger.renew(2, now: now)
        #expect(fixture.ledger.counters.expired == 2)
        #expect(fixture.ledger.counters.stored == 0)
        #expect(fixture.takeFeedback() == [])
        #expect(fixture.ledger.population.state(2) == .online)
    }

    @Test("One that is replaced when it is already out of date is expired, not coalesced")
    func expiredBeforeReplaced() {
        fixture.ledger.set(1, .offline, now: now)
        #expect(fixture.accept(device: 1, expiration: now + 5))
        #expect(fixture.accept(device: 1, now: now + 5))
        #expect(fixture.ledger.counters.expired == 1)
        #expect(fixture.ledger.counters.coalesced == 0)
    }
}
