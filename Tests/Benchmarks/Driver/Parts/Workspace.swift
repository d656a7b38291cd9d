import Foundation

/// A temporary directory for data, certificates and logs.
struct Workspace {
    let directory: URL

    private static let tailLines = 5

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    }

    /// A directory that is there already.
    init(directory: URL) {
        self.directory = directory
    }

    func file(_ name: String) -> URL {
        directory.appendingPathComponent(name)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: file(name))
    }

    /// Makes a directory in it.
    func makeDirectory(_ name: String) throws -> URL {
        let made = file(name)
        try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
        return made
    }

    /// The last lines of every log that has some, those of workspaces within this one too.
    func logTails() -> String {
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: directory.path)) ?? []
        return files.filter { $0.hasSuffix(".log") }.sorted().compactMap { name in
            guard let text = try? String(contentsOf: file(name), encoding: .utf8), !text.isEmpty else { return nil }
            return "\(name):\n  " + text.split(separator: "\n").suffix(Self.tailLines).joined(separator: "\n  ")
        }.joined(separator: "\n")
    }

    func remove() {
        try? FileManager.default.removeItem(at: directory)
    }
}
