import APNsProtocol
import HTTP2Transport

/// Parameters of faults that only the provider API has.
extension Fault {
    /// Requests that may be in order are answered with an error.
    public struct RequestError: Hashable, Sendable {
        /// 400 to 599.
        public let status: Int
        public let reason: ProviderReason
        /// The requests that are refused.
        public let selection: Refusal.Selection

        /// - Parameter status: nil: the usual one of the reason, 500 if it has none.
        public init(status: Int? = nil, reason: ProviderReason, selection: Refusal.Selection = .every(1)) {
            self.status = status ?? reason.entry?.statuses.first ?? 500
            precondition(FaultLimits.requestStatuses.contains(self.status), "status \(self.status) is no error")
            self.reason = reason
            self.selection = selection
        }
    }

    /// Streams end by RST_STREAM in the place of an answer.
    public struct StreamReset: Hashable, Sendable {
        /// With REFUSED_STREAM the request was not processed (RFC 9113 §8.7). With any other code it was accepted: its
        /// fate is unknown to the provider.
        public let code: HTTP2ErrorCode
        /// The requests whose streams are reset.
        public let selection: Refusal.Selection

        public init(code: HTTP2ErrorCode = .refusedStream, selection: Refusal.Selection = .every(1)) {
            self.code = code
            self.selection = selection
        }
    }

    /// A GOAWAY in the midst of requests.
    public struct GoAway: Hashable, Sendable {
        /// Accepted notifications; the stream of the last of them is the last one that is processed.
        public let count: Int
        /// The reason in the debug data; any text, empty for none.
        public let reason: String
        public let code: HTTP2ErrorCode

        public init(count: Int, reason: String = "Shutdown", code: HTTP2ErrorCode = .noError) {
            self.count = count
            self.reason = reason
            self.code = code
        }
    }
}

extension Fault {
    /// The same fault for these app instances; nil for a fault that is not for some of them.
    func selecting(_ instances: Set<AppInstance>) -> Fault? {
        switch behaviour {
        case .errorResponse(let refusal):
            let chosen = Refusal(
                status: refusal.status,
                selection: .instances(instances),
                identifier: refusal.identifier
            )
            return Fault(.errorResponse(chosen), times: times)
        case .requestError(let error):
            let chosen = RequestError(status: error.status, reason: error.reason, selection: .instances(instances))
            return Fault(.requestError(chosen), times: times)
        case .streamReset(let reset):
            return Fault(.streamReset(StreamReset(code: reset.code, selection: .instances(instances))), times: times)
        default:
            return nil
        }
    }
}
