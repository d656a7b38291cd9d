import RedisClient
import Testing

@Suite("Redis URLs")
struct RedisEndpointTests {
    @Test(
        "A URL gives host, port, TLS, credentials and database, with Redis' defaults",
        arguments: [
            ("redis://localhost", RedisEndpoint(host: "localhost")),
            ("redis://localhost/", RedisEndpoint(host: "localhost")),
            ("REDIS://10.0.0.1:7000", RedisEndpoint(host: "10.0.0.1", port: 7000)),
            ("rediss://cache.example.com/3", RedisEndpoint(host: "cache.example.com", tls: true, database: 3)),
            ("redis://[::1]:6380/1", RedisEndpoint(host: "::1", port: 6380, database: 1)),
            ("redis://[fe80::1]", RedisEndpoint(host: "fe80::1")),
            ("redis://:secret@h", RedisEndpoint(host: "h", password: "secret")),
            (
                "redis://ann:secret@h:1/15",
                RedisEndpoint(host: "h", port: 1, user: "ann", password: "secret", database: 15)
            ),
            ("redis://ann:a%3Ab%40c%2Fd%25@h", RedisEndpoint(host: "h", user: "ann", password: "a:b@c/d%")),
            ("redis://:p@ss@h", RedisEndpoint(host: "h", password: "p@ss")),
            ("redis://:a:b@h", RedisEndpoint(host: "h", password: "a:b")),
            ("redis://:%C3%BC@h", RedisEndpoint(host: "h", password: "ü")),
            ("redis+sentinel://h/news", RedisEndpoint(host: "h", port: 26_379, master: "news")),
            (
                "REDISS+Sentinel://ann:secret@[::1]:7/my_master-1.x/2",
                RedisEndpoint(
                    host: "::1",
                    port: 7,
                    tls: true,
                    user: "ann",
                    password: "secret",
                    database: 2,
                    master: "my_master-1.x"
                )
            ),
        ]
    )
    func reads(url: String, expected: RedisEndpoint) throws {
        #expect(try RedisEndpoint(url: url) == expected)
    }

    @Test(
        "A wrong URL names the part that is wrong",
        arguments: [
            ("", RedisEndpointError.Part.scheme),
            ("localhost:6379", .scheme),
            ("http://localhost", .scheme),
            ("redis:/localhost", .scheme),
            ("redis://", .host),
            ("redis://:6379", .host),
            ("redis:///1", .host),
            ("redis://a b", .host),
            ("redis://a,b", .host),
            ("redis://[::1", .host),
            ("redis://[localhost]", .host),
            ("redis://h:", .port),
            ("redis://h:0", .port),
            ("redis://h:65536", .port),
            ("redis://h:+1", .port),
            ("redis://h:99999999999999999999", .port),
            ("redis://[::1]6379", .port),
            ("redis://h/x", .database),
            ("redis://h/-1", .database),
            ("redis://h/1/2", .database),
            ("redis://h?db=1", .query),
            ("redis://h#1", .query),
            ("redis://word@h", .credentials),
            ("redis://ann:@h", .credentials),
            ("redis://:%zz@h", .credentials),
            ("redis://:%4@h", .credentials),
            ("redis://:%ff@h", .credentials),
            ("redis://:a/b@h", .credentials),
            ("sentinel://h/news", .scheme),
            ("redis+sentinel://h", .name),
            ("redis+sentinel://h/", .name),
            ("redis+sentinel://h//1", .name),
            ("redis+sentinel://h/a b", .name),
            ("redis+sentinel:///news", .host),
            ("redis+sentinel://a,b/news", .host),
            ("redis+sentinel://h:x/news", .port),
            ("redis+sentinel://h/news/x", .database),
            ("redis+sentinel://h/news?db=1", .query),
        ]
    )
    func refuses(url: String, part: RedisEndpointError.Part) {
        let error = #expect(throws: RedisEndpointError.self) { try RedisEndpoint(url: url) }
        #expect(error?.part == part)
        #expect(error?.description.contains(part.rawValue) == true)
    }

    @Test(
        "No message and no description repeats a password, whatever is wrong with the URL",
        arguments: [
            "redis://user:hunter2", "redis://user:hunter2@", "redis://user:hunter2@h:x", "redis://user:hunter2@h/x",
            "redis://:hunter2/@h", "redis://:hunter2?@h", "redis://hunter2$@h", "redis://hunter2$",
            "redis://:hunter2%@h", "redis://[hunter2", "redis://user:hunter2@h", "hunter2",
            "redis+sentinel://user:hunter2", "redis+sentinel://user:hunter2@h/news", "redis+sentinel://h/hunter2$",
            "redis+sentinel://user:hunter2@h/news/x", "redis+sentinel://user:hunter2/news",
            "redis://user:pass/hunter2", "redis://user:6379/hunter2", "redis://h/hunter2", "redis://[hunter2]",
        ]
    )
    func keepsPasswords(url: String) {
        do {
            #expect(!(try RedisEndpoint(url: url).description.contains("hunter2")))
        } catch {
            #expect(!error.description.contains("hunter2"))
        }
    }

    @Test("The description of an endpoint is a URL that gives the same one, but for the password")
    func description() throws {
        for url in ["redis://h:1/2", "rediss://[::1]:6379/0", "redis+sentinel://h:26379/news/0"] {
            #expect(try RedisEndpoint(url: url).description == url)
        }
        let endpoint = try RedisEndpoint(url: "rediss+sentinel://ann:secret@h/news")
        #expect(endpoint.description == "rediss+sentinel://ann:***@h:26379/news/0")
    }

    @Test("An address puts brackets around IPv6 only")
    func address() {
        #expect(RedisEndpoint(host: "::1", port: 1).address == "[::1]:1")
        #expect(RedisEndpoint(host: "h", port: 1).address == "h:1")
    }
}
