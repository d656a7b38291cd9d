import NIOCore
import PipelineCore

extension MonotonicTime {
    /// Takes the time of an event loop's clock. That is the time of `NIODeadline.now()`, too.
    package init(_ time: NIODeadline) {
        self.init(nanoseconds: time.uptimeNanoseconds)
    }
}
