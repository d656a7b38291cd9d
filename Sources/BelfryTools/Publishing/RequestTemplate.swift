import BelfryProducer
import Foundation
import PushSchemas

extension RequestBatcher {
    /// Fields that all records of one call have in common.
    struct Template: Equatable, Sendable {
        var bundleID: String
        var requestID: String
        var environment = ""
        /// Checked.
        var content: OrderedContent
        /// UNIX seconds, 0: do not store; nil: not said.
        var expiration: UInt32?
        /// 10, 5 or 1; nil: not said.
        var priority: UInt32?
        /// Empty: none.
        var coalescingKey = ""
        /// Empty: not named.
        var pushType = ""
        /// Empty: none.
        var collapseID = ""
        /// The only token is the id of a channel, UTF-8.
        var isBroadcast = false
        var report: RequestReport?
        /// At least 1.
        var spread: UInt32 = 1
        /// At least 1.
        var tokensPerRecord = 500
        var format = RecordFormat.protobuf

        fileprivate var plan: Plan {
            var plan = Plan(bundleID: bundleID, content: request)
            plan.isBroadcast = isBroadcast
            plan.spread = spread
            plan.tokensPerRecord = tokensPerRecord
            plan.contentType = format.contentType
            return plan
        }

        private var request: PushSendRequest {
            .with {
                $0.requestID = requestID
                $0.environment = environment
                switch (content, format) {
                case (.payload(let bytes), .json): $0.payloadJson = String(decoding: bytes, as: UTF8.self)
                case (.payload(let bytes), .protobuf): $0.payload = Data(bytes)
                case (.notification(let message), _): $0.notification = message
                }
                if let expiration { $0.expiration = Int64(expiration) }
                if let priority { $0.priority = priority }
                $0.coalescingKey = coalescingKey
                $0.pushType = pushType
                $0.collapseID = collapseID
                $0.report = report?.message ?? .unspecified
            }
        }
    }

    init(_ template: Template, mostWaiting: Int = RequestBatcher.mostWaiting) throws {
        try self.init(template.plan, mostWaiting: mostWaiting)
    }
}
