import PipelineCore
import RedisClient

/// The part of Redis that a role needs. The contract is that of ``RedisCluster``: every command completes once, those
/// of one slot in the order sent while the connection lasts.
///
/// Every command names the slot of its keys; a single server ignores it.
package protocol RedisPipeline: AnyObject {
    var isReady: Bool { get }
    /// Commands so far that may run after some that were sent behind them; see ``RedisCluster/detours``.
    var detours: Int { get }
    /// The time from the sending of a command to its reply, of some commands; nil: it is not measured.
    var roundTrips: Histogram? { get }
    func start()
    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    )
    /// Sends a command whose outcome goes to a receiver; `number` names the command to it.
    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        to receiver: any RedisReceiver,
        number: Int
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

extension RedisPipeline {
    /// None: a client of one server runs commands in the order sent.
    package var detours: Int { 0 }
    package var roundTrips: Histogram? { nil }

    package func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        to receiver: any RedisReceiver,
        number: Int
    ) {
        send(slot: slot, write) { receiver.received($0, for: number) }
    }
}

extension RedisCluster: RedisPipeline {}

/// For tests and tools that know their server.
extension RedisConnection: RedisPipeline {
    package func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping Completion
    ) {
        send(write, completion)
    }

    package func evaluate(
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
