import TestSupport

/// Prometheus' own reader of metrics, and its opinion of them.
enum Promtool {
    /// Everything that `promtool check metrics` has to say about an exposition; empty: it is well-formed, and named as
    /// the field does it.
    static func complaints(about text: String) throws -> String {
        let check = try ChildProcess(
            "promtool",
            executable: "/usr/bin/env",
            arguments: ["promtool", "check", "metrics"],
            joinsErrors: true,
            takesInput: true
        )
        try check.tell(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        check.closeInput()
        let said = check.outputToEnd()
        let code = check.wait()
        return code == 0 ? said : "exit code \(code): \(said)"
    }
}
