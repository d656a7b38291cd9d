import Foundation
import TestSupport
import Workbench

/// A document, and a shell into which its blocks are pasted one after the other, in a directory of its own.
///
/// Free ports stand for those that the document names, in its text and where the program would take them by itself.
final class PastedDocument {
    let text: String
    /// As ``ShellBlocks`` has them.
    let blocks: [String]
    let outputs: [Int: String]
    let controlPort: Int
    private let directory: String
    private let shell: DocumentShell

    private static let gateway = "2195"
    private static let feedback = "2196"
    private static let device = "5223"
    private static let api = "2197"
    private static let control = "2190"
    private static let redis = "6390"

    init(_ path: String) throws {
        let ports = try Self.freePorts()
        func free(_ name: String) -> String { "\(ports[name] ?? 0)" }
        text = try documentText(path)
            .replacing(/\b(?:2190|2195|2196|2197|5223|6390)\b/.wordBoundaryKind(.simple)) { free(String($0.output)) }
        let parts = ShellBlocks(text)
        (blocks, outputs) = (parts.blocks, parts.outputs)
        controlPort = ports[Self.control] ?? 0
        directory = NSTemporaryDirectory() + "belfry-pasted-\(UUID().uuidString)"
        // The documents' shell stands in the source directory, in which the program was built.
        let built = "\(directory)/.build/release"
        try FileManager.default.createDirectory(atPath: built, withIntermediateDirectories: true)
        let belfry = try belfryExecutable()
        let stand = """
            #!/bin/sh
            case "$1 $2" in
            "sandbox serve")
                exec '\(belfry)' "$@" --gateway-port \(free(Self.gateway)) --feedback-port \(free(Self.feedback)) \\
                    --device-port \(free(Self.device)) --api-port \(free(Self.api)) \\
                    --control-port \(free(Self.control)) ;;
            "sandbox device") exec '\(belfry)' "$@" --port \(free(Self.device)) ;;
            *) exec '\(belfry)' "$@" ;;
            esac

            """
        try stand.write(toFile: "\(built)/belfry", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(built)/belfry")
        let schemas = Repository.top.appending(path: "Schemas").path
        try FileManager.default.createSymbolicLink(atPath: "\(directory)/Schemas", withDestinationPath: schemas)
        if let python = ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"] {
            let tools = URL(filePath: python).deletingLastPathComponent().deletingLastPathComponent().path
            try FileManager.default.createSymbolicLink(atPath: "\(directory)/.venv", withDestinationPath: tools)
        }
        shell = try DocumentShell(directory: directory, programs: built)
    }

    /// A port for each of those that documents name, by its name.
    private static func freePorts() throws -> [String: Int] {
        var ports: [String: Int] = [:]
        for name in [gateway, feedback, device, api, control, redis] {
            repeat { ports[name] = try freePort() } while Set(ports.values).count < ports.count
        }
        return ports
    }

    /// As ``DocumentShell/paste(_:)``.
    func paste(_ block: String) throws -> [String] { try shell.paste(block) }

    /// Ends the shell; returns its exit code. Nothing is left but the logs, if it is not 0.
    func leave() throws -> Int32 {
        let code = try shell.leave()
        if code == 0 { try FileManager.default.removeItem(atPath: directory) }
        return code
    }

    /// Ends everything at once, if it has not ended. Idempotent.
    func kill() { shell.kill() }

    /// The comment behind the command in a block that begins with `words`; nil if there is none.
    static func comment(behind words: String, in block: String) -> String? {
        let line = block.split(separator: "\n").first { $0.hasPrefix(words) }
        guard let line, let sign = line.firstRange(of: " # ") else { return nil }
        return String(line[sign.upperBound...])
    }

    /// True: the line is the one that a document shows, in which "…" stands for anything. Both are masked.
    static func isShown(_ line: String, as shown: String) -> Bool {
        let parts = shown.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1, let first = parts.first, let last = parts.last else { return line == shown }
        guard line.hasPrefix(first), line.hasSuffix(last) else { return false }
        var rest = line.dropFirst(first.count)
        for part in parts.dropFirst() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return true
    }

    /// A text without what differs from run to run: times, identifiers, tokens (cut in documents), the broker's port.
    static func masked(_ text: some StringProtocol) -> String {
        String(text)
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, with: "TIME")
            .replacing(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, with: "IDENTIFIER")
            .replacing(/[0-9a-f]{64}|[0-9a-f]{16}…/, with: "TOKEN")
            .replacing(/"brokers":"127\.0\.0\.1:\d+"/, with: "BROKERS")
    }
}
