import BelfryProducer
import BelfrySupport
import KafkaClient
import PushTopics

extension OrderPublication {
    /// Checks everything as ``run(through:)`` does, each record by the workers' rules too, and counts what it would
    /// publish.
    ///
    /// - Throws: what is no mistake in the order, such as a file that cannot be kept.
    public func forecast(through settings: KafkaSettings) throws -> PublishForecast {
        let topic = TopicNames(settings).requests(order.lane)
        var forecast = PublishForecast(topic: topic, partitions: partitionCount(of: topic, settings))
        var found: CheckedTokens?
        do {
            let checked = try order.checked { lengths throws(ToolError) in
                let tokens = try CheckedTokens(order.tokens, lengths: lengths, onCheck)
                found = tokens
                return tokens
            } broadcast: {
                .list($0)
            }
            var template = checked.template
            if let rate { template.tokensPerRecord = min(template.tokensPerRecord, rate) }
            var batcher = try RequestBatcher(template)
            let validator = order.validator
            func take(_ record: OutgoingRecord) {
                forecast.add(record)
                forecast.judge(record, by: validator)
            }
            try checked.tokens.forEachToken { try batcher.add($0, take) }
            try batcher.flush(take)
        } catch ToolError.invalidInput(let lines) {
            forecast.faults = lines
        }
        if let found { forecast.faults += found.faults }
        return forecast
    }

    private func partitionCount(of topic: String, _ settings: KafkaSettings) -> Result<Int, ToolError> {
        Result { () throws(ToolError) in
            do throws(KafkaError) {
                let admin = try KafkaAdmin(forCommand: settings, clientID: "belfry-publish") { _ in }
                defer { admin.close() }
                return try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                    try admin.partitionCount(of: topic, timeoutMilliseconds: Self.patienceMilliseconds)
                }
            } catch {
                throw ToolError(asking: error)
            }
        }
    }

    /// A dry run is of use without brokers, too.
    private static let patienceMilliseconds: Int32 = 5_000
}
