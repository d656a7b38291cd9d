import APNsProtocol
import PipelineCore

/// Requests, frames and events of a simulated connection.
extension SimulatedStreams {
    /// A request as the gateway sees it.
    struct Request {
        var stream: Int32
        var record: Int
        var token: Int
        var writtenAt: VirtualTime
        /// The reason that the worker had no right to write.
        var objection: String?
        /// Levers that the worker had read.
        var controls: AppControls
    }

    enum Frame {
        case request(Request)
        case reset(Int32)
        case ping
    }

    enum Event {
        case settings(Int)
        /// Nil: accepted.
        case answer(Int32, ProviderAnswer?)
        case closed(Int32, isRefused: Bool)
        case goAway(last: Int32, isError: Bool, reason: String)
        case pong
    }
}
