import Foundation
import RequestLanes
import Workbench

/// The log of the workers: JSON lines on standard error.
public enum WorkerLog {
    private struct Line: Decodable {
        /// RFC 3339, in UTC.
        var time: String?
        var message: String
        var metadata: [String: String]?

        /// Partitions that the line names.
        var partitions: Set<Int32> {
            Set((metadata?["partitions"] ?? "").split { !$0.isNumber }.compactMap { Int32($0) })
        }

        /// That of the shard which says it.
        var lane: RequestLane { metadata?["lane"].flatMap(RequestLane.init(rawValue:)) ?? .normal }

        var date: Date? { time.flatMap { try? Date($0, strategy: WorkerLog.time) } }

        /// The error is the group's, which does not know the member, or not in this generation.
        var isFencing: Bool {
            let error = metadata?["error"] ?? ""
            return ["[ILLEGAL_GENERATION]", "[UNKNOWN_MEMBER_ID]"].contains { error.hasSuffix($0) }
        }
    }

    /// Partitions of a lane that a worker gave back or lost at one time.
    public struct Loss: Equatable, Sendable {
        /// UNIX seconds.
        public var second: UInt32
        public var lane: RequestLane
        public var partitions: Set<Int32>

        public init(second: UInt32, lane: RequestLane = .normal, partitions: Set<Int32>) {
            self.second = second
            self.lane = lane
            self.partitions = partitions
        }
    }

    /// The sum of a counter over the last words of all shards of these workers.
    public static func sum(of counter: String, in workers: [ChildProcess]) -> Int {
        workers.reduce(0) { sum, worker in
            sum + lines(of: worker.log, saying: "stopped").reduce(0) { $0 + (Int($1[counter] ?? "") ?? 0) }
        }
    }

    /// The partitions of a lane that a worker's shards have now, by what it wrote so far.
    public static func partitions(of worker: ChildProcess, in lane: RequestLane = .normal) -> Set<Int32> {
        shards(of: worker, in: lane).values.reduce(into: []) { $0.formUnion($1) }
    }

    /// Number of these workers' shards in a lane that have partitions now.
    public static func shardsWithPartitions(in workers: [ChildProcess], of lane: RequestLane = .normal) -> Int {
        workers.reduce(0) { sum, worker in sum + shards(of: worker, in: lane).values.count { !$0.isEmpty } }
    }

    /// The partitions of each shard of a lane; what was given back is not among them.
    private static func shards(of worker: ChildProcess, in lane: RequestLane) -> [String: Set<Int32>] {
        holdings(in: worker.log, by: "shard", of: lane)
    }

    /// Everything that a worker gave back or lost, by what it wrote so far.
    public static func losses(of worker: ChildProcess) -> [Loss] { losses(in: worker.log) }

    static func losses(in log: String) -> [Loss] {
        lines(of: log).compactMap { line in
            guard isLoss(line), let date = line.date else { return nil }
            let second = UInt32(date.timeIntervalSince1970)
            return Loss(second: second, lane: line.lane, partitions: line.partitions)
        }
    }

    /// The times at which a worker wrote lines with a message, by what it wrote so far. UNIX seconds.
    public static func seconds(of message: String, by worker: ChildProcess) -> [UInt32] {
        seconds(of: message, in: worker.log)
    }

    static func seconds(of message: String, in log: String) -> [UInt32] {
        lines(of: log).compactMap { line in
            guard line.message == message, let date = line.date else { return nil }
            return UInt32(date.timeIntervalSince1970)
        }
    }

    /// All times for which shards of a worker had partitions, by what it wrote so far.
    public static func tenures(of worker: ChildProcess) -> [ShardTenure] { tenures(in: worker.log) }

    static func tenures(in log: String) -> [ShardTenure] {
        var tenures = ShardTenures()
        for line in lines(of: log) {
            guard let shard = line.metadata?["shard"], let date = line.date else { continue }
            let now = Int((date.timeIntervalSince1970 * 1000).rounded())
            switch line.message {
            case "partitions assigned": tenures.assigned(line.partitions, to: shard, in: line.lane, now: now)
            case "partitions revoked": tenures.revoked(line.partitions, from: shard, now: now)
            case "partitions lost": tenures.lost(line.partitions, of: shard, now: now)
            case "commit failed" where line.isFencing: tenures.refused(shard, now: now)
            default: break
            }
        }
        return tenures.all
    }

    /// The partitions of a Kafka topic that a registrar or harvester has now, by what it wrote so far.
    public static func partitions(of topic: String, appliedBy role: ChildProcess) -> Set<Int32> {
        holdings(in: role.log, by: "source")[topic] ?? []
    }

    /// The partitions that a log says are held, by the value of a key of its lines.
    ///
    /// - Parameter lane: whose shards' lines are read; nil: all lines.
    static func holdings(in log: String, by key: String, of lane: RequestLane? = nil) -> [String: Set<Int32>] {
        var partitions: [String: Set<Int32>] = [:]
        for line in lines(of: log) where lane == nil || line.lane == lane {
            guard let holder = line.metadata?[key] else { continue }
            if line.message == "partitions assigned" {
                partitions[holder, default: []].formUnion(line.partitions)
            } else if isLoss(line) {
                partitions[holder]?.subtract(line.partitions)
            }
        }
        return partitions
    }

    private static func isLoss(_ line: Line) -> Bool {
        line.message == "partitions revoked" || line.message == "partitions lost"
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Address of a worker's operations endpoint; nil before it listens.
    public static func operationsAddress(of worker: ChildProcess) -> String? {
        lines(of: worker.log, saying: "operations endpoint listens").first?["address"]
    }

    /// The metadata of the lines with a message.
    private static func lines(of log: String, saying message: String) -> [[String: String]] {
        lines(of: log).compactMap { $0.message == message ? $0.metadata : nil }
    }

    /// A line that is still being written is left out.
    private static func lines(of log: String) -> [Line] {
        log.split(separator: "\n").compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }
}
