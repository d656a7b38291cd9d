import NIOCore
import RedisClient
import TokenState

/// The servers whose replication IDs a ``RecordReplay`` watches. The contract is that of `RedisCluster`.
protocol ReplicationSource: AnyObject {
    var eventLoop: any EventLoop { get }
    /// Empty until they are known.
    var masterAddresses: [RedisAddress] { get }
    /// Called when another set of masters is known, and when the connection to one of them is made again.
    var onMasters: (() -> Void)? { get set }
    /// Asks every master for a section of INFO; `completion` is called once, with an answer or a failure for each.
    func info(
        _ section: String,
        _ completion: @escaping ([(RedisAddress, Result<RedisInfo, RedisError>)]) -> Void
    )
}

extension RedisCluster: ReplicationSource {}
