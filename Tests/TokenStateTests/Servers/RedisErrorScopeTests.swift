import RedisClient
import Testing
import TokenState

/// The reach of an error of the server: one key, or everything; and for how long.
@Suite struct RedisErrorScopeTests {
    @Test(
        "A refusal because of one key is for good",
        arguments: [
            ("BELFRY", "a token record with flags 255 is not known here"),
            ("WRONGTYPE", "Operation against a key holding the wrong kind of value script: a1, on @user_script:5."),
            ("ERR", "user_script:25: data string too short script: a1, on @user_script:25."),
            ("ERR", "Error running script (call to f_a1): @user_script:25: user_script:25: data string too short"),
        ]
    )
    func lasting(prefix: String, message: String) {
        #expect(RedisError.server(prefix: prefix, message: message).isLastingRefusal)
    }

    @Test(
        "After an error that passes, or concerns every command, the command is tried again",
        arguments: [
            ("LOADING", "Redis is loading the dataset in memory"),
            ("READONLY", "You can't write against a read only replica."),
            ("CLUSTERDOWN", "Hash slot not served"), ("TRYAGAIN", "Multiple keys request during rehashing of slot"),
            ("MOVED", "1 127.0.0.1:7000"), ("MASTERDOWN", "Link with MASTER is down"),
            ("OOM", "command not allowed when used memory > 'maxmemory'."),
            ("MISCONF", "Redis is configured to save RDB snapshots"), ("BUSY", "Redis is busy running a script."),
            ("NOREPLICAS", "Not enough good replicas to write."), ("NOAUTH", "Authentication required."),
            ("NOSCRIPT", "No matching script."),
            ("NOPERM", "this user has no permissions to run the 'evalsha' command"),
            ("NOPERM", "this user has no permissions to access one of the keys used as arguments"),
            ("NOPERM", "No permissions to access a key"),
            ("ERR", "The user executing the script can't access at least one of the keys script: a1, @user_script:1."),
            ("ERR", "user_script:3: Script attempted to access nonexistent global variable 'struct'"),
            ("ERR", "Script attempted to access a non local key in a cluster node script: a1, on @user_script:7."),
            ("ERR", "unknown command 'EVALSHA'"), ("ERR", "max number of clients reached"),
            ("ERR", "max number of clients + cluster connections reached"), ("CLUSTERDOWN", "The cluster is down"),
            ("ERR", "Error running script (call to f_a1): @user_script:12: @user_script: 12: -OOM command not allowed"),
            ("ERR", "Error running script (call to f_a1): @user_script:1: @user_script: 1: -READONLY You can't write"),
            ("ERR", "Error running script (call to f_a1): @user_script:1: Script killed by user with SCRIPT KILL..."),
            ("ERR", "The user executing the script can't run this command or subcommand script: a1, @user_script:1."),
            ("", ""),
        ]
    )
    func passing(prefix: String, message: String) {
        #expect(!RedisError.server(prefix: prefix, message: message).isLastingRefusal)
    }

    @Test("A change that did not reach the server, or whose fate is unknown, is tried again")
    func unknownFate() {
        let errors: [RedisError] = [
            .closed, .timeout(after: .seconds(1)), .notSent(reason: "WRONGTYPE"), .maybeExecuted(reason: "BELFRY"),
        ]
        #expect(errors.allSatisfy { !$0.isLastingRefusal })
    }

    @Test("A right that is missing is told apart from a refusal for good")
    func missingRight() {
        let error = RedisError.server(prefix: "NOPERM", message: "this user has no permissions")
        #expect(error.isMissingRight && !error.isLastingRefusal)
        #expect(!RedisError.server(prefix: "WRONGTYPE", message: "").isMissingRight)
        #expect(!RedisError.closed.isMissingRight)
    }
}
