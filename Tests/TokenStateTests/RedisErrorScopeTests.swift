import RedisClient
import Testing
import TokenState

/// The reach of an error of the server: one key, or everything.
@Suite struct RedisErrorScopeTests {
    @Test(
        "A record of another form, a key of another type or a command that is not allowed concerns that key alone",
        arguments: [
            ("WRONGTYPE", "Operation against a key holding the wrong kind of value"),
            ("NOPERM", "this user has no permissions to run the 'hget' command"),
            ("ERR", "user_script:1: data string too short"),
            ("BELFRY", "a token record with flags 64 is not known here"),
        ]
    )
    func oneKey(prefix: String, message: String) {
        #expect(RedisError.server(prefix: prefix, message: message).isAboutOneKey)
    }

    @Test(
        "A server that is full, loads, fails over or moves a slot refuses everybody for a while",
        arguments: [
            ("ERR", "max number of clients reached"),
            ("ERR", "max number of clients + cluster connections reached"),
            ("OOM", "command not allowed when used memory > 'maxmemory'."),
            ("LOADING", "Redis is loading the dataset in memory"),
            ("MISCONF", "Errors writing to the AOF file: No space left on device"),
            ("CLUSTERDOWN", "The cluster is down"), ("TRYAGAIN", "Multiple keys request during rehashing of slot"),
        ]
    )
    func everything(prefix: String, message: String) {
        #expect(!RedisError.server(prefix: prefix, message: message).isAboutOneKey)
    }

    @Test("A lost connection tells nothing of any key")
    func lost() {
        for error in [.closed, .maybeExecuted(reason: "lost"), .notSent(reason: "away")] as [RedisError] {
            #expect(!error.isAboutOneKey)
        }
    }
}
