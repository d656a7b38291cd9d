import NIOCore
import PipelineCore

extension MonotonicTime {
    /// What an event loop's clock says, which is that of `NIODeadline.now()`, too.
    init(_ time: NIODeadline) {
        self.init(nanoseconds: time.uptimeNanoseconds)
    }
}
