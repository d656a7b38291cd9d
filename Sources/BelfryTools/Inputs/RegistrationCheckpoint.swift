import APNsProtocol
import BelfrySupport
import Foundation
import PushSchemas

/// Progress of publishing a file of registrations: everything before `offset` is acknowledged. Stands beside the file.
struct RegistrationCheckpoint: Checkpoint, Equatable, Sendable {
    /// Identity of the begun work. Another file, or the same one after a change, is begun anew; and so is another
    /// order.
    struct Source: Codable, Equatable, Sendable {
        var size: Int64
        /// Nanoseconds since 1970.
        var modifiedAt: Int64
        /// CRC-32 of the first 64 KiB.
        var beginning: UInt32
        /// The command's settings besides the file, as text.
        var order: String
    }

    var source: Source
    /// Bytes, at the beginning of a line.
    var offset: Int64 = 0
    /// Lines before it.
    var lines = 0
    var tokens = 0
    /// Lines that could not be used.
    var faults = 0

    /// Bytes of a file by which it is known again.
    static let beginningBytes = 1 << 16

    static func path(of file: String) -> String { file + ".belfry-progress" }

    /// The one beside a file if it is of this source; nil: there is none, or it is of another.
    static func read(beside file: String, of source: Source) -> RegistrationCheckpoint? {
        guard let data = FileManager.default.contents(atPath: path(of: file)),
            let found = try? JSONDecoder().decode(RegistrationCheckpoint.self, from: data), found.source == source,
            (0...source.size).contains(found.offset)
        else { return nil }
        return found
    }

    func write(beside file: String) throws(ToolError) { try write(Self.path(of: file)) }
    static func remove(beside file: String) { remove(path(of: file)) }
}
