import Foundation
import Workbench

/// A shell into which the commands of a document are pasted one after the other. The first that fails ends it.
final class DocumentShell {
    private let directory: String
    private let bash: ChildProcess
    private var pasted = 0

    /// Ends what a block prints.
    private static let mark = "-- pasted"

    /// - Parameters:
    ///   - directory: the one it starts in; scripts and log lie there.
    ///   - programs: a directory with the program.
    ///   - environment: added to this process's own.
    init(directory: String, programs: String, environment: [String: String] = [:]) throws {
        self.directory = directory
        let own = ["TMPDIR": directory, "PYTHONDONTWRITEBYTECODE": "1"]
        bash = try ChildProcess(
            "shell",
            executable: "/bin/bash",
            arguments: ["-e"],
            environment: environment.merging(own) { $1 },
            logFile: "\(directory)/shell.log",
            leadsGroup: true,
            takesInput: true
        )
        try bash.tell("cd '\(directory)'")
        try bash.tell("export PATH='\(programs)':\"$PATH\"")
        try bash.tell(#"trap 'for job in $(jobs -p); do kill "$job" || true; done' EXIT"#)
    }

    /// Runs a block to its end.
    ///
    /// - Returns: the lines that it printed.
    @discardableResult
    func paste(_ block: String) throws -> [String] {
        pasted += 1
        let file = "\(directory)/\(pasted).sh"
        try block.write(toFile: file, atomically: true, encoding: .utf8)
        // A command that reads its standard input must not read the next lines.
        try bash.tell(". '\(file)' < /dev/null")
        try bash.tell("echo '\(Self.mark)'")
        var lines: [String] = []
        do {
            while true {
                let line = try bash.nextLine(within: patience)
                guard line.hasSuffix(Self.mark) else {
                    lines.append(line)
                    continue
                }
                // The last line of a block need not have an end.
                let rest = line.dropLast(Self.mark.count)
                return rest.isEmpty ? lines : lines + [String(rest)]
            }
        } catch {
            throw ChildProcess.Failure(description: "\(error)\n\(block)\nsaid \(lines) and\n\(bash.log)")
        }
    }

    /// Ends the shell; returns its exit code.
    func leave() throws -> Int32 {
        bash.closeInput()
        return try bash.wait(within: patience)
    }

    /// Ends everything at once, if it has not ended. Idempotent.
    func kill() { bash.kill() }
}
