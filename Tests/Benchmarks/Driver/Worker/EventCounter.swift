import Foundation
import Workbench

/// Something that is counted in a process, beside what is measured of all.
enum Instrument: String {
    case none
    /// Allocations on the heap, by a library in front of the C library's.
    case allocations
    /// Instructions, by callgrind.
    case instructions
}

/// The allocations of a process, as `belfry-bench-allocations.so` counts them.
struct AllocationFile {
    /// Counted so far.
    struct Counts: Equatable {
        var allocations: UInt64
        /// Held now, as the allocator rounds them.
        var heldBytes: Int64
    }

    let file: URL

    /// Variables of the environment with which a program counts.
    func environment(library: String) -> [String: String] {
        ["LD_PRELOAD": library, "BENCH_ALLOCATIONS": file.path]
    }

    func read() throws -> Counts {
        guard let counts = Self.counts(in: try Data(contentsOf: file)) else {
            throw BenchmarkError("\(file.path): no counts of allocations")
        }
        return counts
    }

    /// The counts in the bytes of a file; nil if they are not all there.
    static func counts(in bytes: Data) -> Counts? {
        guard bytes.count >= 16 else { return nil }
        return bytes.withUnsafeBytes {
            Counts(
                allocations: $0.loadUnaligned(as: UInt64.self),
                heldBytes: $0.loadUnaligned(fromByteOffset: 8, as: Int64.self)
            )
        }
    }
}

/// The instructions of a process that runs under callgrind. All of its threads count.
struct Callgrind {
    private let servers: Servers
    private let process: ChildProcess
    private let output: URL

    /// The sum stands before the costs of all lines.
    private static let headBytes = 4096
    /// For an order. One that comes while all threads are in system calls waits a second where vgdb may not wake them.
    private static let orderSeconds = 60

    /// - Parameter output: as given to ``arguments(output:)``.
    init(servers: Servers, process: ChildProcess, output: URL) {
        self.servers = servers
        self.process = process
        self.output = output
    }

    /// Arguments of valgrind in front of a program and its arguments.
    static func arguments(output: URL) -> [String] {
        // Without turns a thread that always has something to do lets no other run.
        ["--tool=callgrind", "--callgrind-out-file=\(output.path)", "--fair-sched=try", pipes(beside: output)]
    }

    /// The names of the pipes for orders: beside the output, since nobody removes those of a process that is killed.
    private static func pipes(beside output: URL) -> String {
        "--vgdb-prefix=\(output.deletingLastPathComponent().appendingPathComponent("vgdb").path)"
    }

    /// Arguments of vgdb for an order. It gives up, with a failure, on a process that stands still or does not listen.
    static func order(_ order: String, to process: Int32, output: URL) -> [String] {
        [pipes(beside: output), "--cmd-time-out=\(orderSeconds)", "--pid=\(process)", order]
    }

    /// Counts from 0 on. The process must not stand still.
    func reset() throws {
        try control("zero")
    }

    /// Instructions since the last count, or ``reset()``. The process must not stand still.
    func take() throws -> Double {
        try control("dump")
        let directory = output.deletingLastPathComponent()
        let name = output.lastPathComponent
        let dumps = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasPrefix("\(name).") }
        var last: (number: Int, file: String)?
        for dump in dumps {
            guard let number = Int(dump.dropFirst(name.count + 1)), number > last?.number ?? 0 else { continue }
            last = (number, dump)
        }
        guard
            let file = last?.file,
            let handle = try? FileHandle(forReadingFrom: directory.appendingPathComponent(file)),
            let head = try? handle.read(upToCount: Self.headBytes),
            let instructions = Self.instructions(in: String(decoding: head, as: UTF8.self))
        else { throw BenchmarkError("\(process.name): callgrind left no counts in \(directory.path)") }
        return instructions
    }

    /// The sum in a dump of callgrind; nil if there is none.
    static func instructions(in dump: String) -> Double? {
        for line in dump.split(separator: "\n") where line.hasPrefix("summary:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        }
        return nil
    }

    private func control(_ order: String) throws {
        let vgdb = try servers.start(
            "vgdb",
            program: Programs.find("vgdb"),
            arguments: Self.order(order, to: process.processIdentifier, output: output)
        )
        do {
            try vgdb.awaitSuccess()
        } catch {
            throw BenchmarkError("\(process.name): callgrind did not carry out '\(order)': \(error)")
        }
    }
}
