/// The way that a soak publishes: first records of all topics, mixed, then campaigns of one topic after the other.
///
/// Each campaign is handed over at once, so that what waits needs memory, and its topic has nothing more to do for the
/// rest of the run. Memory that a topic keeps after its campaign therefore shows as growth. Pure.
struct CampaignPlan: Equatable, Sendable {
    /// Topics, each with one campaign.
    static let topics = 50
    /// From the first campaign to the part of the run that is judged: the pipeline keeps a topic's memory for a minute.
    static let leadSeconds = 70

    /// Records before the first campaign.
    let mixedRecords: Int
    let recordsPerCampaign: Int
    /// From one campaign to the next.
    let interval: Duration

    /// - Parameters:
    ///   - seconds: of publishing.
    ///   - rate: notifications per second on average, before the campaigns and with them.
    init(seconds: Int, rate: Int) {
        let mixedSeconds = max(seconds / 2 - Self.leadSeconds, seconds / 4)
        let mean = (RequestStream.tokensPerRecord.lowerBound + RequestStream.tokensPerRecord.upperBound) / 2
        mixedRecords = max(1, mixedSeconds * rate / mean)
        recordsPerCampaign = max(1, (seconds - mixedSeconds) * rate / mean / Self.topics)
        interval = Duration.seconds(seconds - mixedSeconds) / Self.topics
    }

    /// The topic of a record; nil: any.
    ///
    /// - Parameter number: from 1.
    func topic(of number: UInt32) -> Int? {
        let place = Int(number) - 1 - mixedRecords
        return place < 0 ? nil : place / recordsPerCampaign % Self.topics
    }

    /// Records that come at once with the next one; nil: records come one by one.
    ///
    /// - Parameter made: records there are already.
    func batch(after made: Int) -> Int? {
        made < mixedRecords ? nil : recordsPerCampaign - (made - mixedRecords) % recordsPerCampaign
    }
}
