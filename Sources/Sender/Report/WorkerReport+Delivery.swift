import BelfrySupport
import PipelineCore

extension WorkerReport {
    /// The times of all shards' notifications, as `/status` tells them.
    var delivery: [RoleStatus.Delivery] {
        let times = shards.reduce(into: DeliveryTimes()) { $0.merge($1.times) }
        return times.series.filter { $0.handedOver.count > 0 || $0.settled.count > 0 }.map { series in
            RoleStatus.Delivery(
                transport: series.transport.rawValue,
                topicClass: series.topicClass.rawValue,
                boundsSeconds: series.handedOver.boundsSeconds,
                handedOver: series.handedOver.countsByBucket.map(Int.init),
                settled: series.settled.countsByBucket.map(Int.init)
            )
        }
    }
}
