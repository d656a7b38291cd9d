import LocalPipeline

/// The times at which the broker let notifications of two owners of a partition arrive side by side.
///
/// An owner that is told in time waits until what it sent has settled, and commits, before the next one begins. Kafka
/// gives it that time: it keeps a group across a restart, and takes commits until the next generation has formed. The
/// broker that is used here does neither: it forgets its groups, and refuses all commits as soon as a member joins or
/// leaves. A worker that is refused has lost its partitions, as far as it can know, and lets them go at once. What it
/// has sent by then is in sockets, from where the worker cannot call it back, and the next owner begins with the same
/// notifications.
///
/// The logs of both owners prove it:
/// - The former one wrote that the partition was lost, or that it was to give it back and the group refused its commit.
///   From then on it sends nothing, and what it had sent is accepted within ``Bounds/delaySeconds``.
/// - The next one is another shard, and wrote after that that the partition was assigned to it. Or before that, if the
///   broker had started in between and forgotten the former one, which learned it within ``Bounds/patienceSeconds``.
///
/// Nothing is proven where an owner was killed, for its log tells no end; nor where it was made to stand still, for
/// whether it sends after that is what is tested. Pure.
struct Handovers: Sendable {
    struct Bounds: Equatable, Sendable {
        /// See ``CommitHistory/delaySeconds``.
        var delaySeconds: UInt32
        /// See ``CommitHistory/patienceSeconds``.
        var patienceSeconds: UInt32
    }

    /// A worker and what its shards had.
    struct Worker: Sendable {
        var name: String
        var tenures: [ShardTenure]
    }

    /// The broker was started again: a time in UNIX seconds between the two.
    struct Restart: Equatable, Sendable {
        /// Before it was started.
        var began: UInt32
        /// It answered.
        var answered: UInt32
    }

    /// A worker was made to stand still. UNIX seconds.
    struct Standstill: Equatable, Sendable {
        var worker: String
        var start: UInt32
        /// Nil: it still does.
        var end: UInt32?
    }

    private struct Tenure {
        var worker: String
        var its: ShardTenure

        var partition: RequestPartition { RequestPartition(its.lane, its.partition) }
    }

    /// By partition: from the second in which the next owner began to the last one in which notifications of the former
    /// one are accepted.
    private var spans: [RequestPartition: [ClosedRange<UInt32>]] = [:]

    init(
        _ workers: [Worker],
        restarts: [Restart] = [],
        standstills: [Standstill] = [],
        within bounds: Bounds
    ) {
        let all = workers.flatMap { worker in worker.tenures.map { Tenure(worker: worker.name, its: $0) } }
        for (partition, tenures) in Dictionary(grouping: all, by: \.partition) {
            let tenures = tenures.sorted { $0.its.start < $1.its.start }
            let suspected = standstills.filter { standstill in
                tenures.contains { $0.worker == standstill.worker && Self.isHeld($0.its, at: standstill.start) }
            }
            for (former, next) in zip(tenures, tenures.dropFirst()) {
                guard let span = Self.span(former, next, restarts, bounds) else { continue }
                let isSuspected = suspected.contains { standstill in
                    let end = standstill.end.map { $0 + bounds.patienceSeconds + bounds.delaySeconds } ?? .max
                    return standstill.start <= span.upperBound && span.lowerBound <= end
                }
                if !isSuspected { spans[partition, default: []].append(span) }
            }
        }
    }

    /// The handover during which something of a partition was accepted. Nil: none that is proven.
    func span(_ partition: RequestPartition, at second: UInt32) -> ClosedRange<UInt32>? {
        spans[partition]?.first { $0.contains(second) }
    }

    /// - Returns: nil: nothing is proven.
    private static func span(
        _ former: Tenure,
        _ next: Tenure,
        _ restarts: [Restart],
        _ bounds: Bounds
    ) -> ClosedRange<UInt32>? {
        guard former.its.isCutOff, let end = former.its.end,
            former.worker != next.worker || former.its.shard != next.its.shard
        else { return nil }
        let (lost, begun) = (second(end), second(next.its.start))
        let isForgotten = restarts.contains {
            second(former.its.start) <= $0.began && $0.began <= begun && lost <= $0.answered + bounds.patienceSeconds
        }
        guard end <= next.its.start || isForgotten, begun <= lost + bounds.delaySeconds else { return nil }
        return begun...lost + bounds.delaySeconds
    }

    private static func isHeld(_ tenure: ShardTenure, at time: UInt32) -> Bool {
        second(tenure.start) <= time && time <= tenure.end.map(second) ?? .max
    }

    private static func second(_ milliseconds: Int) -> UInt32 { UInt32(clamping: milliseconds / 1000) }
}
