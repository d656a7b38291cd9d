import BelfrySupport
import Foundation

/// Progress of a replay: in each partition everything below an offset is acknowledged, or was not meant.
struct ReplayCheckpoint: Checkpoint, Equatable {
    /// The order, as text: letters that were meant, and brokers. Another order has no part in it.
    var order: String
    /// UNIX milliseconds of the earliest letter that is meant; nil: any. A time that is typed as "6h" is another one
    /// each time; that of the first command counts.
    var since: Int64?
    /// By partition.
    var next: [Int32: Int64] = [:]

    /// The text of an order, by which it is known again.
    static func order(_ filter: DeadLetterFilter, brokers: String) -> String {
        let since = filter.sinceText ?? filter.since.map(String.init) ?? ""
        return "\(hosts(brokers)) \(filter.reasons.sorted()) \(filter.bundleIDs.sorted()) \(since)"
    }

    /// Nil: there is none yet.
    ///
    /// - Throws: the file is of another order, or none of ours: neither is overwritten.
    static func read(_ path: String, of order: String) throws(ToolError) -> ReplayCheckpoint? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let found = try? JSONDecoder().decode(ReplayCheckpoint.self, from: data) else {
            throw .refused("\(path): is no checkpoint of a replay; name another file")
        }
        guard found.order == order else {
            throw .refused(
                "\(path): is the checkpoint of a replay with other options or brokers, which was interrupted; "
                    + "finish that one, name another file, or remove this one"
            )
        }
        return found
    }
}
