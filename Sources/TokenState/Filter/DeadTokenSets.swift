import Logging
import NIOCore
import PipelineCore
import Synchronization

/// The dead tokens of a worker's bundles, as published in push.tombstones. Shared by the worker's shards, kept by its
/// ``TombstoneFollower``.
///
/// While the sets are complete, a token not found here is not looked up in Redis. A token found here is, so an old
/// set may cost a needless send but never a wrong silence.
///
/// Their memory is bounded. A set that would have to grow beyond the bound is given up until the worker restarts:
/// every token of its bundle is then looked up in Redis.
package final class DeadTokenSets: Sendable {
    private struct Name: Hashable {
        var environment: String
        var bundleID: String
    }

    /// The longest lag of the sets behind the published records.
    let maxAge: Duration
    /// Most bytes of all sets together, including the tables being replaced.
    private let memoryBytes: Int
    private let sets = Mutex<[Name: DeadTokenSet]>([:])
    /// ``MonotonicTime`` of the event loops' clock as of which everything published is known; 0: not yet.
    private let completeAsOf = Atomic<UInt64>(0)
    private let bytesTaken = Atomic<Int>(0)
    private let logger: Logger
    /// The event loop that changes the sets.
    private let writer: any EventLoop
    /// The event loops that read the sets.
    private let readers: [any EventLoop]
    private let isSentFor: @Sendable (_ environment: String, _ bundleID: String) -> Bool

    /// - Parameters:
    ///   - writer: the event loop that changes the sets.
    ///   - readers: the event loops that look into them.
    ///   - isSentFor: returns whether the worker has a certificate for a bundle in an environment: others are not kept.
    package init(
        maxAge: Duration,
        memoryBytes: Int,
        writer: any EventLoop,
        readers: [any EventLoop],
        logger: Logger,
        isSentFor: @escaping @Sendable (_ environment: String, _ bundleID: String) -> Bool
    ) {
        self.maxAge = maxAge
        self.memoryBytes = memoryBytes
        self.writer = writer
        self.readers = readers
        self.logger = logger
        self.isSentFor = isSentFor
    }

    /// The set of a bundle. Any thread.
    package func deadTokens(environment: String, bundleID: String) -> DeadTokenSet {
        sets.withLock { sets in
            let name = Name(environment: environment, bundleID: bundleID)
            if let known = sets[name] { return known }
            let set = DeadTokenSet()
            bytesTaken.add(DeadTokenSet.firstBytes, ordering: .relaxed)
            sets[name] = set
            return set
        }
    }

    /// The sets are complete: a token not found here may be taken for alive. Any thread.
    package func isComplete(now: MonotonicTime) -> Bool {
        guard let completeAsOf = completeSince else { return false }
        return now <= completeAsOf + maxAge
    }

    /// The time as of which everything published is known; nil: not yet. Any thread.
    package var completeSince: MonotonicTime? {
        let time = completeAsOf.load(ordering: .acquiring)
        return time == 0 ? nil : MonotonicTime(nanoseconds: time)
    }

    /// Tombstones held. Any thread.
    package var count: Int { sets.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Bytes of all sets. Any thread.
    package var bytes: Int { bytesTaken.load(ordering: .relaxed) }

    /// The number of sets given up for lack of memory. Any thread.
    package var givenUp: Int { sets.withLock { $0.values.count { $0.isGivenUp } } }

    /// Merges a change that a shard knows before push.tombstones brings it here.
    ///
    /// - Parameter noted: called on `eventLoop`, the caller's, once every reader will find the change.
    package func noteChange(
        _ change: TokenChange,
        _ facts: TokenFacts,
        from eventLoop: any EventLoop,
        noted: @escaping () -> Void
    ) {
        let noted = NIOLoopBound(noted, eventLoop: eventLoop)
        writer.execute { [self] in
            merge(environment: change.environment, bundleID: change.bundleID, token: change.token, facts)
            eventLoop.execute { noted.value() }
        }
    }

    // MARK: The writer

    /// Merges a record of push.tombstones.
    func merge(environment: String, bundleID: String, token: [UInt8], _ facts: TokenFacts) {
        writer.assertInEventLoop()
        guard isSentFor(environment, bundleID) else { return }
        let set = deadTokens(environment: environment, bundleID: bundleID)
        let old = set.merge(
            token.withUnsafeBytes { DeadTokenSet.hash($0) },
            registeredAt: facts.registeredAt,
            // One that is dead for some kind of topic is looked up in Redis, which tells for which.
            tombstonedAt: facts.latestDeath,
            roomBytes: memoryBytes - bytes
        )
        guard let old else { return }
        if set.isGivenUp {
            logger.warning(
                "the filter of dead tokens would take too much memory; Redis is asked for every token of the bundle",
                metadata: ["environment": "\(environment)", "app": "\(bundleID)", "bytes": "\(memoryBytes)"]
            )
        }
        retire(old, replacedBy: set.bytes)
    }

    /// Forgets a token. Its record names no environment.
    func forget(bundleID: String, token: [UInt8]) {
        writer.assertInEventLoop()
        let hash = token.withUnsafeBytes { DeadTokenSet.hash($0) }
        for (name, set) in sets.withLock({ $0 }) where name.bundleID == bundleID { set.forget(hash) }
    }

    /// Notes that everything published before `time` has been merged; nil: that is not known any more.
    func complete(asOf time: MonotonicTime?) {
        completeAsOf.store(time?.nanoseconds ?? 0, ordering: .releasing)
    }

    /// Keeps a table until every reader has finished the work of the time when the table was replaced.
    private func retire(_ table: DeadTokenSet.Table, replacedBy bytes: Int) {
        bytesTaken.add(bytes, ordering: .relaxed)
        EventLoopFuture.andAllComplete(readers.map { $0.submit {} }, on: writer).whenComplete { [self] _ in
            bytesTaken.subtract(table.bytes, ordering: .relaxed)
        }
    }
}
