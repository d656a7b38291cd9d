/// Lines on their way to standard error. What does not fit is left out and counted.
struct LogQueue {
    private let limitBytes: Int
    private var bytes: [UInt8] = []
    private var leftOut = 0

    init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    /// Nothing to write, and nothing to tell.
    var isEmpty: Bool { bytes.isEmpty && leftOut == 0 }

    mutating func append(_ line: [UInt8]) {
        // Later lines wait behind those that were left out: what is told of them stands in its place.
        guard leftOut == 0, bytes.count + line.count <= limitBytes else {
            leftOut += 1
            return
        }
        bytes += line
    }

    /// Empties the queue: the lines in their order, and the number of those that should follow them.
    mutating func takeLines() -> (bytes: [UInt8], leftOut: Int) {
        defer {
            bytes = []
            leftOut = 0
        }
        return (bytes, leftOut)
    }
}
