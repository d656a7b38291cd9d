import PipelineCore
import Testing

@testable import RedisClient
@testable import TokenState

/// Several clients of one process and the servers they share.
@Suite struct RedisNewsTests {
    /// The news in a test's hand: `#expect` cannot call what mutates a value.
    private final class News {
        private var news = RedisNews()

        func tells(_ state: RedisConnectionState, _ client: Int, atSecond second: UInt64 = 0) -> Bool {
            news.isTold(state, by: client, now: MonotonicTime(nanoseconds: second * 1_000_000_000))
        }
    }

    private func away(
        _ address: String,
        _ reason: String = "cannot connect: connection refused",
        attempt: Int = 1
    ) -> RedisConnectionState {
        .disconnected(
            RedisDisconnection(
                address: address,
                reason: reason,
                refusal: nil,
                attempt: attempt
            )
        )
    }

    @Test("A server that is away is told once a minute, however many clients miss it and however often they try")
    func once() {
        let news = News()
        func told(_ attempt: Int, atSecond second: UInt64) -> [Bool] {
            (1...3).map { news.tells(away("a:1", attempt: attempt), $0, atSecond: second) }
        }
        #expect(told(1, atSecond: 5) == [true, false, false])
        #expect(told(2, atSecond: 6) == [false, false, false])
        #expect(told(30, atSecond: 64) == [false, false, false])
        #expect(told(31, atSecond: 65) == [true, false, false])
        #expect(told(32, atSecond: 66) == [false, false, false])
    }

    @Test("Another reason is told at once, and reasons that take turns once a minute each")
    func reasons() {
        let news = News()
        func told(_ reason: String, atSecond second: UInt64) -> Bool {
            news.tells(away("a:1", reason), 1, atSecond: second)
        }
        #expect(told("refused", atSecond: 0))
        #expect(told("silent", atSecond: 1))
        #expect(!told("refused", atSecond: 2))
        #expect(!told("silent", atSecond: 3))
        #expect(told("refused", atSecond: 60))
        #expect(!told("silent", atSecond: 60))
        #expect(told("silent", atSecond: 61))
    }

    @Test("A server that is lost again after it was back is told at once")
    func again() {
        let news = News()
        #expect(news.tells(away("a:1"), 1))
        #expect(news.tells(.connected, 1))
        #expect(news.tells(away("a:1"), 1))
    }

    @Test("Each server that is away is told, by the client that missed it first")
    func servers() {
        let news = News()
        #expect(news.tells(away("a:1"), 1))
        #expect(news.tells(away("b:1"), 2))
        #expect(!news.tells(away("b:1"), 1))
        #expect(!news.tells(away("a:1"), 2))
        #expect(news.tells(away("b:1"), 2, atSecond: 60))
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
