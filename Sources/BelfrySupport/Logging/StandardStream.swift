import Foundation

/// Standard output and standard error as file descriptors: no buffer that a crash would lose, no lock.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of `bytes`, waiting where it must. What the reader no longer takes is dropped: a log has
    /// no place to complain, and a caller that prints data uses `tryWrite`.
    @Sendable public func write(_ bytes: [UInt8]) {
        _ = tryWrite(bytes)
    }

    /// Writes all of `bytes`. False: the other end is gone.
    public func tryWrite(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                let result = Glibc.write(rawValue, rest.baseAddress, rest.count)
                if result >= 0 {
                    written += result
                } else if errno == EAGAIN {
                    // A terminal that another program made non-blocking.
                    var descriptor = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                    poll(&descriptor, 1, -1)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }

    /// Writes `bytes` for at most `limit`, for the end of a process, which a reader that stands still must not prevent.
    ///
    /// A thread of its own writes, and stays with what could not be written: a pipe with some room may be full again,
    /// of the log's thread, before this one writes.
    ///
    /// - Returns: false: not all was written in time, or the reader is gone.
    @discardableResult
    public func write(_ bytes: [UInt8], within limit: Duration) -> Bool {
        FinalFlush.run(timeout: limit) { tryWrite(bytes) }
    }

    /// The stream is a terminal: a person watches.
    public var isTerminal: Bool { isatty(rawValue) == 1 }
}
