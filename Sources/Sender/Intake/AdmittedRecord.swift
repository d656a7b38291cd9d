import KafkaClient
import PipelineCore

/// A record of a topic that may send more, beside its request.
struct AdmittedRecord {
    var message: KafkaMessageView
    var index: Int
    var feed: AppFeed
    var topic: Topic
    /// The shard of the bundle that the key names.
    var shard: UInt32?
    /// An operator has discarded it: it is looked up, and then ends.
    var isDiscarded = false
    /// Its number in the feed, which it has entered before; nil: it is to be entered.
    var number: UInt32?
}
