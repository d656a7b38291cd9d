import Testing

@testable import RedisClient
@testable import TokenState

/// Several clients of one process and the servers they share.
@Suite struct RedisNewsTests {
    /// The news in a test's hand: `#expect` cannot call what mutates a value.
    private final class News {
        private var news = RedisNews()

        func tells(_ state: RedisConnectionState, _ client: Int) -> Bool { news.isTold(state, by: client) }
    }

    private func away(_ address: String, attempt: Int = 1) -> RedisConnectionState {
        .disconnected(
            RedisDisconnection(
                address: address,
                reason: "cannot connect: connection refused",
                refusal: nil,
                attempt: attempt
            )
        )
    }

    @Test("A server that is away is told once per attempt, however many clients miss it")
    func once() {
        let news = News()
        for attempt in 1...3 {
            #expect((1...3).map { news.tells(away("a:1", attempt: attempt), $0) } == [true, false, false])
        }
    }

    @Test("Each server that is away is told, by the client that missed it first")
    func servers() {
        let news = News()
        #expect(news.tells(away("a:1"), 1))
        #expect(news.tells(away("b:1"), 2))
        #expect(!news.tells(away("b:1"), 1))
        #expect(!news.tells(away("a:1"), 2))
        #expect(news.tells(away("b:1"), 2))
    }

    @Test("Redis is back when the last client is connected, and that is told once")
    func back() {
        let news = News()
        #expect(news.tells(.connected, 1), "the start")
        #expect(!news.tells(.connected, 2))
        #expect(news.tells(away("a:1"), 1))
        #expect(!news.tells(away("a:1"), 2))
        #expect(!news.tells(.connected, 1))
        #expect(news.tells(.connected, 2))
        #expect(!news.tells(.connected, 1))
    }

    @Test("When the client that spoke for a server is back, the next that misses it speaks")
    func speakers() {
        let news = News()
        #expect(news.tells(away("a:1"), 1))
        #expect(!news.tells(away("a:1"), 2))
        #expect(!news.tells(.connected, 1))
        #expect(news.tells(away("a:1"), 2))
    }
}
