import BelfrySupport
import Foundation

/// A file by which an interrupted command goes on.
protocol Checkpoint: Codable {}

extension Checkpoint {
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

    /// The hosts of a list of brokers, in an order that does not depend on how it is typed.
    static func hosts(_ brokers: String) -> [String] {
        brokers.split(separator: ",").map { String($0.filter { $0 != " " }) }.sorted()
    }
}
