/// The topics as a device's connection sees them. Topics go by their number here.
///
/// Belongs to one thread, as the mints in it do.
protocol CourierDesk {
    /// Devices a topic has, the same for all.
    var devices: Int { get }
    func topic(named name: String) -> Int?
    func name(of topic: Int) -> String
    /// The topic and the instance of a token, or `nil` when it is of no topic here.
    func open(_ token: [UInt8]) -> (topic: Int, instance: AppInstance)?
    func token(of instance: AppInstance, topic: Int) -> [UInt8]
    /// Alone with the topic's ledger.
    func withLedger<Result>(of topic: Int, _ body: (inout DeviceLedger) -> Result) -> Result
}

/// The running service's.
struct ServiceDesk: CourierDesk {
    private let topics: [(topic: PushService.Topic, mint: TokenMint)]
    let devices: Int

    init(_ service: PushService) {
        topics = service.topics.map { ($0, service.mint(for: $0)) }
        devices = service.devices
    }

    func topic(named name: String) -> Int? {
        topics.firstIndex { $0.topic.name == name }
    }

    func name(of topic: Int) -> String {
        topics[topic].topic.name
    }

    func open(_ token: [UInt8]) -> (topic: Int, instance: AppInstance)? {
        // The token says its topic only to the mint of that topic.
        for (index, entry) in topics.enumerated() {
            if let instance = token.withUnsafeBytes(entry.mint.open) { return (index, instance) }
        }
        return nil
    }

    func token(of instance: AppInstance, topic: Int) -> [UInt8] {
        topics[topic].mint.token(of: instance)
    }

    func withLedger<Result>(of topic: Int, _ body: (inout DeviceLedger) -> Result) -> Result {
        topics[topic].topic.withLedger(body)
    }
}
