import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// Numbers and notices as a person reads them.
@Suite struct SmallTextTests {
    @Test("One of a thing is not told in the plural")
    func singular() {
        #expect(counted(0, "token") == "0 tokens")
        #expect(counted(1, "token") == "1 token")
        #expect(counted(2, "token") == "2 tokens")
        let report = PublishReport(topic: "push.requests", records: 1, tokens: 1, requestID: nil)
        #expect(report.text == "published 1 token in 1 record to push.requests")
        let file = RegistrationFileReport(topic: "t", tokens: 1, faults: 1)
        #expect(file.text == "published 1 token to t; 1 line could not be used")
        let failure = ToolError.notDelivered(failed: 1, of: 1, reason: "no answer")
        #expect(failure.description == "1 of 1 record not acknowledged: no answer")
    }

    @Test("A range of one value is told as that value")
    func ranges() {
        #expect((32...32).allowedText == "32")
        #expect((32...100).allowedText == "32...100")
    }

    @Test("A person who has to type tokens is told so; a pipe is not")
    func standardInput() {
        #expect(
            InputText.notice(of: "tokens, one a line,", isTerminal: true)
                == "reading tokens, one a line, from standard input; Ctrl-D ends it"
        )
        #expect(InputText.notice(of: "tokens", isTerminal: false) == nil)
    }

    @Test(
        "A notification with a time to live expires that long from now, in whole seconds and never earlier",
        arguments: [
            (.seconds(30), 1_700_000_030), (.milliseconds(1), 1_700_000_001), (.milliseconds(30_001), 1_700_000_031),
            (.seconds(86_400), 1_700_086_400),
        ] as [(Duration, UInt32)]
    )
    func timeToLive(ttl: Duration, expiration: UInt32) {
        #expect(PublishOrder.expiration(after: ttl, now: 1_700_000_000_000) == expiration)
    }

    @Test("A time to live that is nothing, or ends behind the last second of a frame, is none")
    func noTimeToLive() {
        #expect(PublishOrder.expiration(after: .zero, now: 1_700_000_000_000) == nil)
        #expect(PublishOrder.expiration(after: .seconds(2_594_967_295), now: 1_700_000_000_000) == .max)
        #expect(PublishOrder.expiration(after: .seconds(2_594_967_296), now: 1_700_000_000_000) == nil)
        #expect(PublishOrder.expiration(after: .seconds(Int64.max / 2), now: 1_700_000_000_000) == nil)
    }
}
