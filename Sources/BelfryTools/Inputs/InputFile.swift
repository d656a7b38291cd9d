import BelfrySupport

/// A file that a command was given.
public enum InputFile {
    /// All bytes of the file at `path`.
    ///
    /// - Throws: `ToolError.invalidInput`, which names the file.
    public static func bytes(at path: String) throws(ToolError) -> [UInt8] {
        let file = try FileDescriptor(reading: path)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = try file.read(into: &piece), count > 0 { bytes += piece[..<count] }
        return bytes
    }
}
