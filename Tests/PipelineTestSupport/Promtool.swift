import Foundation

/// Prometheus' own reader of metrics, and its opinion of them.
enum Promtool {
    /// Everything that `promtool check metrics` has to say about an exposition; empty: it is well-formed, and named as
    /// the field does it.
    static func complaints(about text: String) throws -> String {
        let check = Process()
        check.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        check.arguments = ["promtool", "check", "metrics"]
        let (input, output) = (Pipe(), Pipe())
        check.standardInput = input
        check.standardOutput = output
        check.standardError = output
        try check.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        check.waitUntilExit()
        return check.terminationStatus == 0 ? said : "exit code \(check.terminationStatus): \(said)"
    }
}
