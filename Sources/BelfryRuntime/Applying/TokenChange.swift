import RedisClient

/// One atomic change of a token's state: a script of ``TokenScripts`` with its arguments.
struct TokenChange: Sendable {
    enum Argument: Sendable {
        case number(Int)
        case text(String)
    }

    var script: RedisScript
    var key: [UInt8]
    var arguments: [Argument]

    /// The app registered the token.
    ///
    /// - Parameter at: UNIX seconds.
    static func register(key: [UInt8], at seconds: UInt32, locale: String, timeZone: String) -> TokenChange {
        TokenChange(
            script: registerScript,
            key: key,
            arguments: [.number(Int(seconds)), .text(locale), .text(timeZone)]
        )
    }

    /// The token was found dead, or was given up.
    ///
    /// - Parameter at: UNIX seconds.
    static func tombstone(key: [UInt8], at seconds: UInt32, reason: TokenRecord.Reason) -> TokenChange {
        TokenChange(
            script: tombstoneScript,
            key: key,
            arguments: [.number(Int(seconds)), .number(Int(reason.rawValue))]
        )
    }

    private static let registerScript = RedisScript(TokenScripts.register)
    private static let tombstoneScript = RedisScript(TokenScripts.tombstone)

    /// Runs the change; the scripts are idempotent, so one whose fate is unknown can be run again.
    func run(on redis: any RedisPipeline, _ completion: @escaping RedisConnection.Completion) {
        redis.evaluate(script, keyCount: 1, argumentCount: arguments.count) { writer in
            writer.argument(key)
            for argument in arguments {
                switch argument {
                case .number(let number): writer.argument(number)
                case .text(let text): writer.argument(text)
                }
            }
        } _: {
            completion($0)
        }
    }
}
