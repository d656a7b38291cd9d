import Foundation
import PipelineCore
import Synchronization

/// The value that a file holds, made anew when the file has changed.
///
/// Each question looks at the file, which costs a microsecond, and reads it when it is another one than before, or when
/// it was not read for ``rereading``. Links are followed, so that a mounted secret may be swapped. Any thread may ask.
final class FollowedFile<Value: Sendable>: Sendable {
    /// The answer to a question.
    struct Answer: Sendable {
        /// The latest value that could be made.
        let value: Value
        /// The reason why the file as it is now holds no value; nil: it holds ``value``.
        let fault: String?
        /// The value, or the fault, is another one than in the answer before.
        let isNews: Bool
    }

    private struct State {
        var stamp: FileStamp?
        var readAt: MonotonicTime
        var content: [UInt8]?
        var value: Value
        var fault: String?
    }

    /// Time after which a file is read again that seems unchanged.
    static var rereading: Duration { .seconds(30) }
    /// Tokens and certificates are far smaller; a log given by mistake is not read whole.
    private static var limitBytes: Int64 { 1 << 20 }

    let path: String
    private let make: @Sendable ([UInt8]) throws(UnusableContent) -> Value
    private let state: Mutex<State>

    /// Reads the file.
    ///
    /// - Throws: ``UnusableContent``: it cannot be read, or `make` cannot use what it holds.
    init(
        _ path: String,
        now: MonotonicTime,
        make: @escaping @Sendable ([UInt8]) throws(UnusableContent) -> Value
    ) throws(UnusableContent) {
        self.path = path
        self.make = make
        let stamp = FileStamp(of: path)
        let content = try Self.read(path, stamp)
        state = Mutex(State(stamp: stamp, readAt: now, content: content, value: try make(content)))
    }

    /// The value as the file has it now. Blocks for as long as a small file is read, and rarely that.
    func ask(now: MonotonicTime) -> Answer {
        state.withLock { state in
            let stamp = FileStamp(of: path)
            guard stamp != state.stamp || state.readAt.elapsed(until: now) >= Self.rereading else {
                return Answer(value: state.value, fault: state.fault, isNews: false)
            }
            state.stamp = stamp
            state.readAt = now
            do throws(UnusableContent) {
                let content = try Self.read(path, stamp)
                let isSame = content == state.content
                if !isSame { state.value = try make(content) }
                let isNews = !isSame || state.fault != nil
                state.content = content
                state.fault = nil
                return Answer(value: state.value, fault: nil, isNews: isNews)
            } catch {
                let isNews = state.fault != error.reason
                state.fault = error.reason
                return Answer(value: state.value, fault: error.reason, isNews: isNews)
            }
        }
    }

    private static func read(_ path: String, _ stamp: FileStamp?) throws(UnusableContent) -> [UInt8] {
        guard let stamp else { throw UnusableContent(reason: "is not there") }
        guard stamp.isRegularFile else { throw UnusableContent(reason: "is no file") }
        guard stamp.sizeBytes <= limitBytes else { throw UnusableContent(reason: "is larger than 1 MiB") }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw UnusableContent(reason: "cannot be read")
        }
        return [UInt8](bytes)
    }
}

/// The content of a file is not what it should be.
struct UnusableContent: Error, Equatable {
    /// Fit to follow the file's name.
    let reason: String
}
