import Foundation

/// Writes log lines on a thread of its own, so that a reader that stands still holds nothing up: not the caller, and
/// never an event loop.
///
/// Any thread may call. Lines that do not fit into the queue are counted, and told when the reader goes on. A crash may
/// lose the lines of its last moment; an end of the process that calls ``flush(within:)`` does not.
final class LogWriter: @unchecked Sendable {
    private let output: @Sendable ([UInt8]) -> Void
    private let tellLeftOut: @Sendable (Int) -> [UInt8]
    private let takeMore: @Sendable () -> [UInt8]
    /// Guards what follows. Not held while something is written.
    private let condition = NSCondition()
    private var queue: LogQueue
    private var isWriting = false
    private var isClosed = false

    /// Starts the thread, which runs until ``close()``.
    ///
    /// - Parameters:
    ///   - output: writes whole lines; may block. Called on the thread.
    ///   - tellLeftOut: a line that tells of so many lines left out.
    ///   - takeMore: asked about once a second for lines that no call brings.
    init(
        limitBytes: Int = LogLimits.queueBytes,
        output: @escaping @Sendable ([UInt8]) -> Void,
        tellLeftOut: @escaping @Sendable (Int) -> [UInt8],
        takeMore: @escaping @Sendable () -> [UInt8] = { [] }
    ) {
        queue = LogQueue(limitBytes: limitBytes)
        self.output = output
        self.tellLeftOut = tellLeftOut
        self.takeMore = takeMore
        let thread = Thread { self.run() }
        thread.name = "belfry.log"
        thread.start()
    }

    /// Takes one line, its end included. Never waits for the reader.
    func write(_ line: [UInt8]) {
        condition.withLock {
            queue.append(line)
            condition.broadcast()
        }
    }

    /// Waits until all lines so far are written. False: they were not in time.
    @discardableResult
    func flush(within limit: Duration) -> Bool {
        let deadline = Date(timeIntervalSinceNow: limit / .seconds(1))
        return condition.withLock {
            while !queue.isEmpty || isWriting {
                guard condition.wait(until: deadline) else { return false }
            }
            return true
        }
    }

    /// Ends the thread once it has written what it was given. Idempotent.
    func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }

    private func run() {
        while let (bytes, leftOut) = next() {
            if !bytes.isEmpty { output(bytes) }
            if leftOut > 0 { output(tellLeftOut(leftOut)) }
            let more = takeMore()
            if !more.isEmpty { output(more) }
        }
    }

    /// The lines to write; none after a second without any. Nil: the writer is closed.
    private func next() -> (bytes: [UInt8], leftOut: Int)? {
        condition.withLock {
            isWriting = false
            condition.broadcast()
            let deadline = Date(timeIntervalSinceNow: 1)
            while queue.isEmpty, !isClosed, condition.wait(until: deadline) {}
            guard !queue.isEmpty || !isClosed else { return nil }
            isWriting = true
            return queue.takeLines()
        }
    }
}
