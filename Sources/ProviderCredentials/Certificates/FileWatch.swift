import BelfrySupport
import Dispatch
import Foundation
import PipelineCore
import Synchronization

/// One look at the files of a directory and of those in it, and at some beside it: their names, and the stamps of what
/// they are, or of what links lead to, so that a mounted secret may be swapped. Costs some microseconds a file, and
/// reads none.
struct FileLook: Equatable, Sendable {
    private var stamps: [String: FileStamp?] = [:]

    /// - Parameter directory: one that is not there has no files.
    init(directory: String, files: [String] = []) {
        for path in Self.entries(of: directory) {
            add(path)
            for inner in Self.entries(of: path) { add(inner) }
        }
        for path in files { add(path) }
    }

    private mutating func add(_ path: String) { stamps[path] = .some(FileStamp(of: path)) }

    /// Empty if it is no directory.
    private static func entries(of path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).map { "\(path)/\($0)" }
    }
}

/// Says from looks when files are to be read again: when they have changed, once they stand still, since files are
/// written piece by piece; and at intervals in any case.
struct FileWatch: Sendable {
    /// The time from one look to the next.
    static let lookInterval = Duration.seconds(1)

    private let readInterval: Duration
    private var lastLook: FileLook?
    /// The look at what was read last; nil: a reading before the first look does not count.
    private var lastRead: FileLook?
    private var readAt: MonotonicTime

    /// - Parameter interval: after which the files are read although they seem unchanged.
    init(readingEvery interval: Duration, now: MonotonicTime) {
        readInterval = interval
        readAt = now
    }

    /// The files are to be read now, and the answer counts as their reading.
    mutating func isDue(_ look: FileLook, now: MonotonicTime) -> Bool {
        let standsStill = look == lastLook
        lastLook = look
        guard standsStill && look != lastRead || readAt.elapsed(until: now) >= readInterval else { return false }
        lastRead = look
        readAt = now
        return true
    }
}

/// Runs `body`, and meanwhile `read` when a look at the files says so, on a thread for blocking work.
///
/// - Parameter interval: after which the files are read although they seem unchanged.
func watching(
    readingEvery interval: Duration,
    _ look: @escaping @Sendable () -> FileLook,
    _ read: @escaping @Sendable () -> Void,
    while body: () async throws -> Void
) async rethrows {
    let clock: @Sendable () -> MonotonicTime = { MonotonicTime(nanoseconds: DispatchTime.now().uptimeNanoseconds) }
    let watch = Watch(FileWatch(readingEvery: interval, now: clock()))
    let work: @Sendable () -> Void = {
        if watch.state.withLock({ $0.isDue(look(), now: clock()) }) { read() }
    }
    try await repeating(every: min(interval, FileWatch.lookInterval), work, while: body)
}

/// Shares a watch between the threads that look, one after the other.
private final class Watch: Sendable {
    let state: Mutex<FileWatch>

    init(_ watch: FileWatch) { state = Mutex(watch) }
}
