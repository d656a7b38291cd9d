import RedisClient

/// What a shard needs of Redis; see ``RedisConnection``, whose contract this is: every command completes once, in the order
/// sent while the connection lasts.
protocol RedisPipeline: AnyObject {
    var isReady: Bool { get }
    func start()
    func send(_ write: (inout RedisCommandWriter) -> Void, _ completion: @escaping RedisConnection.Completion)
    func evaluate(
        _ script: RedisScript,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    )
    func close()
}

extension RedisConnection: RedisPipeline {}
