import Glibc
import NIOCore
import PipelineCore

extension MonotonicTime {
    /// Takes the time of an event loop's clock. That is the time of `NIODeadline.now()`, too.
    package init(_ time: NIODeadline) {
        self.init(nanoseconds: time.uptimeNanoseconds)
    }

    /// The time since the host was started, suspension included (`CLOCK_BOOTTIME`).
    ///
    /// Event loops have another clock, which stands still while the host is suspended or moved. So what others may do
    /// after a time, such as a group with the partitions of a silent member, is judged by this one.
    package static func throughSuspension() -> MonotonicTime {
        var time = timespec()
        // It fails for an unknown clock only, and Linux has this one.
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }
}
