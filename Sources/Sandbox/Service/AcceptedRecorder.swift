import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Brings what the topics accept into a file, on a thread of its own, so that a slow disk stops no client; what it
/// cannot take in time, or at all, is counted and said.
///
/// Owns its thread; ``stop()`` has to be called before the last reference goes.
final class AcceptedRecorder: Sendable {
    private struct Pen: ~Copyable {
        var file: AcceptedLogFile
        /// Empty between two times.
        var chunk: AcceptedChunk
        /// Something was lost the last time. So it is said once and not at every time.
        var isLosing = false
    }

    private let path: String
    private let service: PushService
    private let logger: Logger
    private let thread: MultiThreadedEventLoopGroup
    private let pen: Mutex<Pen>

    /// Begins to write; the first time is an interval away.
    ///
    /// - Throws: ``SandboxSetupError`` naming the file.
    init(
        path: String,
        service: PushService,
        logger: Logger,
        interval: TimeAmount = .milliseconds(SandboxLimits.recordingMilliseconds)
    ) throws(SandboxSetupError) {
        let file = try AcceptedLogFile.open(path: path, topics: service.topics.map(\.name))
        self.path = path
        self.service = service
        self.logger = logger
        thread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        pen = Mutex(Pen(file: file, chunk: AcceptedChunk(limit: SandboxLimits.recordedRecords)))
        thread.next().scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in self.write() }
    }

    /// Writes what has come and ends the thread. Idempotent. Nothing may be accepted any more.
    func stop() async throws {
        try await thread.shutdownGracefully()
        write()
    }

    private func write() {
        pen.withLock { pen in
            var lost = 0
            var reason: String?
            for topic in service.topics {
                topic.withLedger { $0.takeRecorded(into: &pen.chunk) }
                if pen.chunk.dropped > 0 { reason = "it is too slow" }
                let outcome = pen.file.write(pen.chunk)
                reason = outcome.reason ?? reason
                lost += outcome.lost + pen.chunk.dropped
                pen.chunk.clear()
            }
            if lost > 0 {
                service.countDroppedRecords(lost)
                if !pen.isLosing { logLoss(lost, reason) }
            }
            pen.isLosing = lost > 0
        }
    }

    private func logLoss(_ count: Int, _ reason: String?) {
        logger.error(
            "acceptances could not be written",
            metadata: ["file": "\(path)", "records": "\(count)", "reason": "\(reason ?? "")"]
        )
    }
}
