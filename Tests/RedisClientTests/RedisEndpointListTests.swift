import RedisClient
import Testing

@Suite("Several Redis URLs")
struct RedisEndpointListTests {
    @Test("One is a list of one; a comma in a password separates nothing; spaces around commas do not matter")
    func reads() throws {
        #expect(try RedisEndpoint.list(urls: "redis://h:1/2") == [RedisEndpoint(host: "h", port: 1, database: 2)])
        #expect(
            try RedisEndpoint.list(urls: "redis://:a,b@h") == [RedisEndpoint(host: "h", password: "a,b")]
        )
        #expect(
            try RedisEndpoint.list(urls: "rediss://u:p,w@a:1, rediss://u:p,w@[::1]:2")
                == ["a", "::1"].enumerated().map {
                    RedisEndpoint(host: $1, port: $0 + 1, tls: true, user: "u", password: "p,w")
                }
        )
    }

    @Test("Sentinels of a master stand in one URL, or in one each; the master's login and database are those of all")
    func sentinels() throws {
        func expected(_ addresses: (String, Int)...) -> [RedisEndpoint] {
            addresses.map { RedisEndpoint(host: $0, port: $1, password: "p,w", database: 2, master: "news") }
        }
        #expect(
            try RedisEndpoint.list(urls: "redis+sentinel://:p,w@a:1, b ,[::1]:3/news/2")
                == expected(("a", 1), ("b", 26_379), ("::1", 3))
        )
        #expect(
            try RedisEndpoint.list(urls: "redis+sentinel://:p,w@a:1/news/2, redis+sentinel://:p,w@b,c/news/2")
                == expected(("a", 1), ("b", 26_379), ("c", 26_379))
        )
        // Spaces at the ends, as a file or a variable may have them.
        #expect(
            try RedisEndpoint.list(urls: " redis+sentinel://:p,w@a:1,b/news/2 ") == expected(("a", 1), ("b", 26_379))
        )
        let named = try RedisEndpoint.list(urls: "redis+sentinel://a,b/news ")
        #expect(named.map(\.master) == ["news", "news"])
    }

    @Test(
        "All have one scheme and the same credentials, and each is whole",
        arguments: [
            ("redis://a,rediss://b", RedisEndpointError.Part.scheme),
            ("redis://:x@a,redis://b", .credentials),
            ("redis://u:x@a,redis://v:x@b", .credentials),
            ("redis://a:1,redis://b:x", .port),
            ("redis://a,redis+sentinel://b/news", .scheme),
            ("redis+sentinel://a/news,rediss+sentinel://b/news", .scheme),
            ("redis+sentinel://a/news,redis+sentinel://b/chat", .name),
            ("redis+sentinel://a/news/1,redis+sentinel://b/news/2", .database),
            ("redis+sentinel://a,/news", .host),
            ("", .scheme),
        ]
    )
    func refuses(urls: String, part: RedisEndpointError.Part) {
        let error = #expect(throws: RedisEndpointError.self) { try RedisEndpoint.list(urls: urls) }
        #expect(error?.part == part)
    }

    @Test("What follows a comma without a scheme belongs to the URL before, which says so")
    func withoutScheme() {
        #expect(throws: RedisEndpointError.self) { try RedisEndpoint.list(urls: "redis://a:1,b:2") }
    }
}
