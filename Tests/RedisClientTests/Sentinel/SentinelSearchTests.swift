import Testing

@testable import RedisClient

/// The search as a class: `#expect` cannot call what mutates a value.
private final class Search {
    private var search: SentinelSearch

    init(_ count: Int) {
        let sentinels = (0..<count).map { RedisAddress(host: "s\($0)", port: 26_379) }
        search = SentinelSearch(master: "news", sentinels: sentinels)
    }

    func begin() -> SentinelSearch.Step { search.begin() }
    func answered(_ answer: SentinelAnswer) -> SentinelSearch.Step { search.answered(answer) }
}

@Suite("The search for a master among sentinels")
struct SentinelSearchTests {
    private static let server = RedisAddress(host: "m", port: 1)

    @Test("Sentinels are asked in turn, each once, until one names a server")
    func inTurn() {
        let search = Search(3)
        #expect(search.begin() == .ask(0))
        #expect(search.answered(.nothing("refused")) == .ask(1))
        #expect(search.answered(.nothing("silent")) == .ask(2))
        #expect(search.answered(.server(Self.server)) == .found(Self.server))
    }

    @Test("The next search begins behind the sentinel whose answer was of no use, and asks all the same")
    func goesOn() {
        let search = Search(3)
        for first in [0, 1, 2, 0] {
            #expect(search.begin() == .ask(first))
            #expect(search.answered(.server(Self.server)) == .found(Self.server))
        }
        #expect(search.begin() == .ask(1))
        #expect(search.answered(.nothing("a")) == .ask(2))
        #expect(search.answered(.nothing("b")) == .ask(0))
        guard case .failed = search.answered(.nothing("c")) else {
            Issue.record("one was asked twice")
            return
        }
    }

    @Test("A search in vain names the master, and each sentinel with its reason, of this search alone")
    func reasons() {
        let search = Search(2)
        for reason in ["refused", "silent"] {
            _ = search.begin()
            _ = search.answered(.nothing(reason))
            #expect(
                search.answered(.nothing("it is no sentinel"))
                    == .failed(
                        SentinelSilence(
                            reason: "no sentinel tells the address of the master \"news\": s0:26379: \(reason); "
                                + "s1:26379: it is no sentinel",
                            refusal: nil
                        )
                    )
            )
        }
    }

    @Test("A login is refused when all sentinels refuse it in one search; one that is merely away may accept it")
    func login() {
        func loss(_ refusal: String?) -> SentinelAnswer {
            SentinelAnswer(
                RedisDisconnection(
                    address: "s:1",
                    reason: "",
                    refusal: refusal.map { RedisError.server(text: $0) },
                    attempt: 1
                )
            )
        }
        let (wrong, missing) = ("WRONGPASS invalid username-password pair", "NOAUTH Authentication required.")
        let search = Search(2)
        func refusal(_ first: String?, _ second: String?) -> RedisError? {
            _ = search.begin()
            _ = search.answered(loss(first))
            guard case .failed(let silence) = search.answered(loss(second)) else { return nil }
            return silence.refusal
        }
        #expect(refusal(wrong, missing) == RedisError.server(text: wrong))
        #expect(refusal(wrong, nil) == nil)
        #expect(refusal(nil, missing) == nil, "that of a former search does not count")
        #expect(refusal(wrong, "ERR max number of clients reached") == nil)
        #expect(refusal(missing, missing) == RedisError.server(text: missing))
    }

    // MARK: Answers

    private func answer(_ value: ReplyValue) throws -> SentinelAnswer {
        let parser = ReplyParser(limitBytes: 1 << 20)
        var answer: SentinelAnswer?
        try value.encoded.withUnsafeBytes { bytes in
            try parser.feed(bytes) { reply in
                answer = SentinelAnswer(.success(reply))
                return true
            }
        }
        return try #require(answer)
    }

    @Test("An answer is a host, or an IP address, and a port")
    func reads() throws {
        #expect(try answer(.array([.text("10.0.0.1"), .text("6379")])) == .server(.init(host: "10.0.0.1", port: 6379)))
        #expect(try answer(.array([.text("::1"), .text("7")])) == .server(.init(host: "::1", port: 7)))
    }

    @Test(
        "Anything else is none",
        arguments: [
            .array([.text(""), .text("1")]), .array([.text("h"), .text("0")]), .array([.text("h"), .text("65536")]),
            .array([.text("h"), .text("x")]), .array([.text("h")]), .array([.integer(1), .text("1")]), .text("h:1"),
            .integer(1), .status("OK"),
        ] as [ReplyValue]
    )
    func malformed(value: ReplyValue) throws {
        #expect(try answer(value) == .nothing("its answer is no address"))
    }

    @Test("A name that the sentinel does not know, and a server that is no sentinel, are told as such")
    func refusals() throws {
        #expect(try answer(.null) == .nothing("it watches over no master of that name"))
        let unknown = RedisError.server(text: "ERR unknown command 'SENTINEL', with args beginning with: 'get-master")
        #expect(SentinelAnswer(.failure(unknown)) == .nothing("it is no sentinel"))
        let other = RedisError.server(text: "NOAUTH Authentication required.")
        #expect(SentinelAnswer(.failure(other)) == .nothing("NOAUTH Authentication required."))
    }
}
