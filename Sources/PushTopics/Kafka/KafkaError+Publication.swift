import KafkaClient
import PipelineCore

extension KafkaError {
    /// The meaning of the error for a publication that is in its smallest form.
    package var refusal: PublicationLine.Refusal {
        if isQueueFull { return .full }
        if isTopicRefused { return .barred }
        return isMessageRefused ? .unfit : .failed
    }
}
