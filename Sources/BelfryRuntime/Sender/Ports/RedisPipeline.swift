import RedisClient

/// What a role needs of Redis; see ``RedisCluster``, whose contract this is: every command completes once, those of one
/// slot in the order sent while the connection lasts.
///
/// Every command says in which slot its keys lie; a single server does not care.
protocol RedisPipeline: AnyObject {
    var isReady: Bool { get }
    func start()
    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    )
    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    )
    func close()
}

extension RedisCluster: RedisPipeline {}

/// For tests and tools that know their server.
extension RedisConnection: RedisPipeline {
    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        send(write, completion)
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        evaluate(script, keyCount: keyCount, argumentCount: argumentCount, write, completion)
    }
}
