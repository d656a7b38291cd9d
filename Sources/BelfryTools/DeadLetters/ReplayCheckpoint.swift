import BelfrySupport
import Foundation

/// Progress of a replay: in each partition everything below an offset is acknowledged, or was not meant.
struct ReplayCheckpoint: Codable, Equatable {
    /// The letters that were meant, as text: another order begins anew.
    var order: String
    /// By partition.
    var next: [Int32: Int64] = [:]

    /// Nil: there is none, or it is of another order.
    static func read(_ path: String, of order: String) -> ReplayCheckpoint? {
        guard let data = FileManager.default.contents(atPath: path),
            let found = try? JSONDecoder().decode(ReplayCheckpoint.self, from: data), found.order == order
        else { return nil }
        return found
    }

    /// Takes the place of the one there, in one step.
    func write(_ path: String) throws(ToolError) {
        do {
            try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw .notFound("\(path): cannot be written: \(error.localizedDescription)")
        }
    }

    static func remove(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
    }
}
