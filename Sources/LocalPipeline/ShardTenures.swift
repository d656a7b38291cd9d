import RequestLanes

/// The time for which a shard of a worker had a partition, as the worker's log has it.
public struct ShardTenure: Equatable, Sendable {
    /// Its number among all shards of the worker.
    public var shard: String
    public var lane: RequestLane
    public var partition: Int32
    /// UNIX time, milliseconds.
    public var start: Int
    /// When the shard was told to give it back, or that it is lost. Nil: its log does not say.
    public var end: Int?
    /// The shard could not finish: the partition was lost, or the group refused the commit that was to end the tenure.
    public var isCutOff: Bool

    public init(
        shard: String,
        lane: RequestLane = .normal,
        partition: Int32,
        start: Int,
        end: Int? = nil,
        isCutOff: Bool = false
    ) {
        self.shard = shard
        self.lane = lane
        self.partition = partition
        self.start = start
        self.end = end
        self.isCutOff = isCutOff
    }
}

/// Collects tenures from what the shards of one worker say, in order. Pure; times are UNIX milliseconds.
struct ShardTenures {
    private(set) var all: [ShardTenure] = []
    /// By shard: indices of those that have not ended, and of those given back since the last assignment.
    private var open: [String: [Int]] = [:]
    private var givenBack: [String: [Int]] = [:]
    /// By shard: when the group last refused a commit, since the last assignment.
    private var refusedAt: [String: Int] = [:]

    /// A refused commit counts for a tenure that ends within so long after it.
    private static let refusalMilliseconds = 1000

    mutating func assigned(_ partitions: Set<Int32>, to shard: String, in lane: RequestLane, now: Int) {
        for partition in partitions.sorted() {
            open[shard, default: []].append(all.count)
            all.append(ShardTenure(shard: shard, lane: lane, partition: partition, start: now))
        }
        givenBack[shard] = nil
        refusedAt[shard] = nil
    }

    mutating func revoked(_ partitions: Set<Int32>, from shard: String, now: Int) {
        let isRefused = refusedAt[shard].map { now - $0 <= Self.refusalMilliseconds } ?? false
        givenBack[shard, default: []] += end(partitions, of: shard, isCutOff: isRefused, now: now)
    }

    mutating func lost(_ partitions: Set<Int32>, of shard: String, now: Int) {
        _ = end(partitions, of: shard, isCutOff: true, now: now)
    }

    /// The group does not know the shard, or not in this generation.
    mutating func refused(_ shard: String, now: Int) {
        refusedAt[shard] = now
        for index in givenBack[shard] ?? [] { all[index].isCutOff = true }
    }

    /// - Returns: the indices of those that end.
    private mutating func end(_ partitions: Set<Int32>, of shard: String, isCutOff: Bool, now: Int) -> [Int] {
        let ending = (open[shard] ?? []).filter { partitions.contains(all[$0].partition) }
        open[shard]?.removeAll { ending.contains($0) }
        for index in ending {
            all[index].end = now
            all[index].isCutOff = isCutOff
        }
        return ending
    }
}
