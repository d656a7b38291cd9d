import BelfrySupport

/// A line on a terminal that tells how far a long command has come, written over again and again; elsewhere nothing.
public final class ProgressLine {
    private let output: ([UInt8]) -> Void
    private let isShown: Bool
    private var next: ContinuousClock.Instant?
    private var width = 0

    /// Written to standard error, if a person watches.
    public convenience init() {
        self.init(isShown: StandardStream.error.isTerminal, output: StandardStream.error.write)
    }

    init(isShown: Bool, output: @escaping ([UInt8]) -> Void) {
        self.output = output
        self.isShown = isShown
    }

    /// Shows the text, unless another one was shown a moment ago.
    public func show(_ text: @autoclosure () -> String) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let next, now < next { return }
        next = now + .milliseconds(100)
        write(text())
    }

    /// Removes the line, for what is said next.
    public func end() {
        guard isShown, width > 0 else { return }
        write("")
        output([UInt8(ascii: "\r")])
    }

    private func write(_ text: String) {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        output(Array("\r\(text)\(blanks)".utf8))
        width = text.count
    }

    /// A bar of 30 characters with the share in percent.
    public static func bar(_ share: Double) -> String {
        let share = min(1, max(0, share))
        let filled = Int(share * 30)
        let (done, left) = (String(repeating: "#", count: filled), String(repeating: ".", count: 30 - filled))
        return "[\(done)\(left)] \(Int(share * 100))%"
    }
}
