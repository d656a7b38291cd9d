import Foundation
import Workbench

/// The log of the workers: JSON lines on standard error.
public enum WorkerLog {
    private struct Line: Decodable {
        var message: String
        var metadata: [String: String]?
    }

    /// The sum of a counter over the last words of all shards of these workers.
    public static func sum(of counter: String, in workers: [ChildProcess]) -> Int {
        workers.reduce(0) { sum, worker in
            sum + lines(of: worker.log, saying: "stopped").reduce(0) { $0 + (Int($1[counter] ?? "") ?? 0) }
        }
    }

    /// The partitions that all shards of a worker have now, by what it wrote so far.
    public static func partitions(of worker: ChildProcess) -> Set<Int32> {
        shards(of: worker).values.reduce(into: []) { $0.formUnion($1) }
    }

    /// Number of these workers' shards that have partitions now.
    public static func shardsWithPartitions(in workers: [ChildProcess]) -> Int {
        workers.reduce(0) { sum, worker in sum + shards(of: worker).values.count { !$0.isEmpty } }
    }

    /// The partitions of each shard; what was given back is not among them.
    private static func shards(of worker: ChildProcess) -> [String: Set<Int32>] {
        var partitions: [String: Set<Int32>] = [:]
        for line in lines(of: worker.log) {
            guard let shard = line.metadata?["shard"], let list = line.metadata?["partitions"] else { continue }
            let named = Set(list.split { !$0.isNumber }.compactMap { Int32($0) })
            switch line.message {
            case "partitions assigned": partitions[shard, default: []].formUnion(named)
            case "partitions revoked", "partitions lost": partitions[shard]?.subtract(named)
            default: break
            }
        }
        return partitions
    }

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
