import Foundation

/// The programs that take part; those of the benchmarks lie beside this one.
struct Programs {
    let belfry: String
    let floor: String
    let load: String
    let sink: String
    let fire: String
    let lookups: String
    let broker: String
    let calls: String

    init(belfry: String?) throws {
        self.belfry = try Self.belfry(belfry)
        floor = try Self.sibling("belfry-bench-floor")
        load = try Self.sibling("belfry-bench-load")
        sink = try Self.sibling("belfry-bench-sink")
        fire = try Self.sibling("belfry-bench-fire")
        lookups = try Self.sibling("belfry-bench-lookups")
        broker = try Self.sibling("belfry-bench-broker")
        calls = try Self.sibling("belfry-bench-calls")
    }

    /// The belfry executable.
    ///
    /// - Parameter chosen: by an option; nil: the one beside this program.
    static func belfry(_ chosen: String?) throws -> String { try chosen ?? sibling("belfry") }

    private static func sibling(_ name: String) throws -> String {
        let directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let path = directory.appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchmarkError("\(path) is missing: run 'make build'")
        }
        return path
    }

    /// The library that gives h2load a client certificate; `make bench-http2` makes it.
    func identityLibrary() throws -> String {
        try library("belfry-bench-identity.so", madeBy: "bench-http2")
    }

    /// The library that counts allocations; `make bench` makes it.
    func allocationsLibrary() throws -> String {
        try library("belfry-bench-allocations.so", madeBy: "bench")
    }

    /// The library without which valgrind cannot run our program; `make bench` makes it.
    func suspendLibrary() throws -> String {
        try library("belfry-bench-suspend.so", madeBy: "bench")
    }

    private func library(_ name: String, madeBy target: String) throws -> String {
        let path = URL(fileURLWithPath: sink).deletingLastPathComponent().appendingPathComponent(name).path
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw BenchmarkError("\(path) is missing: run 'make \(target)'")
        }
        return path
    }

    /// The full path of a program in PATH.
    static func find(_ name: String) throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // Servers lie in /usr/sbin, which not everybody's PATH has.
        let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        for directory in directories {
            let candidate = "\(directory)/\(name)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw BenchmarkError("no \(name) in PATH: run 'make deps'")
    }
}
