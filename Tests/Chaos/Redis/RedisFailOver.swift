import Glibc
import TestSupport

/// Redis servers of the run's own, of which replicas take the place of masters during the run.
///
/// Owned by one thread; methods block.
protocol RedisFailOver: AnyObject {
    /// The servers as `redis.url` names them.
    var urls: String { get }
    /// The URL of a server that is there at the beginning, for redis-cli.
    var entry: String { get }
    /// A master whose writes reach no replica any more, and the replica that is going to take its place.
    var cut: (master: RedisNode, replica: RedisNode)? { get set }

    /// Ends all servers. Idempotent.
    func end()
    /// Stops all servers in order.
    func stop()
    /// Starts all servers with the data they had; returns when all of them are where they belong.
    func start() throws
    /// A master and its replica, which is in step, once all servers agree.
    ///
    /// - Parameter pick: which master, modulo their number.
    func pair(_ pick: Int) throws -> (master: RedisNode, replica: RedisNode)
    func isMaster(_ node: RedisNode) throws -> Bool
}

extension RedisFailOver {
    /// From now on nothing that a master writes reaches its replica.
    ///
    /// - Parameter pick: which master, modulo their number.
    func cutReplica(_ pick: Int) throws {
        let pair = try pair(pick)
        pair.replica.pause()
        _ = try pair.master.command("CLIENT", "KILL", "TYPE", "replica")
        cut = pair
    }

    /// Kills the master; the replica, which lacks its last writes, may take over.
    func killMaster() {
        cut?.master.kill()
        cut?.replica.resume()
    }

    /// Waits until the replica has taken over, and starts the former master, which becomes its replica.
    func reviveMaster() throws {
        guard let (master, replica) = cut else { return }
        cut = nil
        try wait(for: "the replica at port \(replica.port) to take over") { try isMaster(replica) }
        try master.start()
    }

    func wait(for what: String, _ condition: () throws -> Bool) throws {
        let patience = Duration.seconds(60)
        let deadline = ContinuousClock.now + patience
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw ChaosError("waited \(patience) for \(what)") }
            // Nothing tells when servers agree.
            poll(nil, 0, 100)
        }
    }
}
