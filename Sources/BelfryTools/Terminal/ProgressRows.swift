import BelfrySupport

/// Rows on standard output beside a progress line on standard error, which may be the same terminal.
package final class ProgressRows {
    private let progress: ProgressLine
    private let output: ([UInt8]) -> Bool
    private var written = 0

    package convenience init() {
        self.init(progress: ProgressLine(), output: StandardStream.output.tryWrite)
    }

    init(progress: ProgressLine, output: @escaping ([UInt8]) -> Bool) {
        self.progress = progress
        self.output = output
    }

    /// Writes rows, each on a line of its own, and tells how far that is.
    ///
    /// - Parameter share: of the whole that is done, 0...1.
    /// - Returns: false: the output is not read any more.
    package func write(_ rows: [String], share: Double) -> Bool {
        if !rows.isEmpty {
            // On a terminal the first row would be glued to the bar, and the bar scroll away with it.
            progress.end()
            guard output(Array((rows.joined(separator: "\n") + "\n").utf8)) else { return false }
            written += rows.count
        }
        progress.show("\(ProgressLine.bar(share)) \(counted(written, "token"))")
        return true
    }

    package func end() {
        progress.end()
    }
}
