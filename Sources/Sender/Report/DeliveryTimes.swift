import BelfrySupport
import PipelineCore

/// Times of a shard's notifications on their way: from their publishing to the gateway, and from there to the outcome.
struct DeliveryTimes: Sendable, Equatable {
    /// The class of a topic at the moment of measuring.
    enum AppClass: String, CaseIterable, Sendable {
        /// It keeps up.
        case live
        /// It is fed from its own cursor.
        case lagging

        init(isLive: Bool) { self = isLive ? .live : .lagging }
    }

    /// The times over one transport of topics of one class.
    struct Series: Sendable, Equatable {
        let transport: EnvironmentSettings.Transport
        let topicClass: AppClass
        /// From the record's timestamp to the hand-over to TLS.
        fileprivate(set) var handedOver = Histogram.delivery
        /// From the hand-over to the outcome.
        fileprivate(set) var settled = Histogram.delivery
    }

    private(set) var series = EnvironmentSettings.Transport.allCases.flatMap { transport in
        AppClass.allCases.map { Series(transport: transport, topicClass: $0) }
    }

    /// Notes notifications handed over together.
    ///
    /// - Parameter age: since the first of them was published.
    mutating func noteHandOver(
        _ count: Int,
        age: Duration,
        over transport: EnvironmentSettings.Transport,
        _ topicClass: AppClass
    ) {
        series[Self.place(transport, topicClass)].handedOver.observe(age, count: count)
    }

    /// Notes notifications that got their outcomes together.
    ///
    /// - Parameter time: since the first of them was handed over.
    mutating func noteSettled(
        _ count: Int,
        after time: Duration,
        over transport: EnvironmentSettings.Transport,
        _ topicClass: AppClass
    ) {
        series[Self.place(transport, topicClass)].settled.observe(time, count: count)
    }

    /// Adds the times of another shard.
    mutating func merge(_ other: DeliveryTimes) {
        for index in series.indices {
            series[index].handedOver.merge(other.series[index].handedOver)
            series[index].settled.merge(other.series[index].settled)
        }
    }

    /// The place in ``series``.
    private static func place(_ transport: EnvironmentSettings.Transport, _ topicClass: AppClass) -> Int {
        (transport == .binary ? 0 : AppClass.allCases.count) + (topicClass == .live ? 0 : 1)
    }
}
