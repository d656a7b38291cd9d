import NIOCore
import NIOEmbedded
import PipelineCore
import RedisClient

@testable import TokenRoles
@testable import TokenState

/// Masters whose answers about their replication the test decides. They answer at once.
final class ScriptedMasters: ReplicationSource {
    let loop: EmbeddedEventLoop
    var onMasters: (() -> Void)?
    /// Replication IDs; nil: no answer in time.
    var histories: [RedisAddress: String?]

    init(_ histories: [RedisAddress: String?], on loop: EmbeddedEventLoop = EmbeddedEventLoop()) {
        self.histories = histories
        self.loop = loop
    }

    var eventLoop: any EventLoop { loop }

    var masterAddresses: [RedisAddress] { histories.keys.sorted() }

    func info(
        _ section: String,
        _ completion: @escaping ([(RedisAddress, Result<RedisInfo, RedisError>)]) -> Void
    ) {
        completion(
            masterAddresses.map { master in
                guard let history = histories[master] ?? nil else {
                    return (master, .failure(.timeout(after: .seconds(1))))
                }
                return (master, .success(RedisInfo("role:master\r\nmaster_replid:\(history)\r\n")))
            }
        )
    }

    /// Lets time pass.
    func pass(_ seconds: Int64) { loop.advanceTime(by: .seconds(seconds)) }

    var now: MonotonicTime { MonotonicTime(loop.now) }
}
