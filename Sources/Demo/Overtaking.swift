import Foundation
import LocalPipeline
import PushSchemas

/// The chapter of an urgent notification that overtakes a backlog in bulk.
///
/// The backlog goes at a pace, an operator's lever, and all of it under one key, so that it takes a few seconds. Its
/// last notification is for the device of the urgent one, which is published behind it: so the order in which the
/// sandbox accepted the two tells.
struct Overtaking {
    /// Of the app in bulk, set before the workers start.
    static let notificationsPerSecond = 900
    private static let backlog = 600
    private static let shard = RequestPlan.spread - 1

    let bundleID: String
    let device: [UInt8]
    let bulk: [PlannedRecord]
    let urgent: [PlannedRecord]
    /// Numbers in the payloads of the last one in bulk, and of the urgent one.
    private let numbers: (bulk: Int, urgent: Int)

    /// - Parameter topic: has more living tokens of a key than the backlog has notifications.
    init(_ topic: RequestPlan.Topic, _ plan: inout RequestPlan) {
        let ofShard = topic.living.filter { token in
            token.withUnsafeBytes { RecordKey.shard(of: $0, spread: RequestPlan.spread) } == Self.shard
        }
        let others = Array(ofShard.prefix(Self.backlog - 1))
        bundleID = topic.bundleID
        device = ofShard[others.count]
        bulk = plan.good(others.count, of: topic, from: others) + plan.good(1, of: topic, from: [device])
        let last = plan.lastNumber
        urgent = plan.good(1, of: topic, from: [device])
        numbers = (last, plan.lastNumber)
    }

    /// Publishes the backlog, and when the broker has all of it the urgent notification.
    func publish(through kafka: PipelineClient) throws {
        try kafka.publish(bulk, into: .bulk)
        try kafka.publish(urgent, into: .urgent)
    }

    /// For people.
    var notifications: Int { bulk.reduce(0) { $0 + $1.notifications } }

    /// The urgent notification was accepted before the last one in bulk.
    ///
    /// - Parameter accepted: the numbers of the device's notifications, in the order of their acceptance.
    func hasOvertaken(_ accepted: [UInt32]) -> Bool {
        guard let urgent = accepted.firstIndex(of: UInt32(numbers.urgent)),
            let bulk = accepted.firstIndex(of: UInt32(numbers.bulk))
        else { return false }
        return urgent < bulk
    }
}
