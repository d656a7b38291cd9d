/// `POST /population`: `{"rates":{"offline":0.5,"online":2}}` changes how fast devices change their state by
/// themselves, per hour; rates that are left out become 0. With a `topic` it is about that one, else about all.
struct PopulationRequest: Equatable {
    /// `nil` = all.
    let topic: String?
    let rates: ChurnRates

    init(body: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: body)
        topic = try fields.string("topic")
        var rates = ChurnRates()
        for (name, rate) in try fields.requiredNumbers("rates", names: ChurnRates.names, in: ChurnRates.range) {
            rates[name] = rate
        }
        self.rates = rates
        try fields.finish()
    }
}

extension ControlAPI {
    /// - Returns: the rates that hold now, by name.
    func change(_ request: PopulationRequest) throws(ControlError) -> [String: Double] {
        let topics = if let name = request.topic { [try topic(name)] } else { service.topics }
        for topic in topics {
            topic.withLedger { $0.churnRates = request.rates }
        }
        return Dictionary(uniqueKeysWithValues: ChurnRates.names.map { ($0, request.rates[$0]) })
    }
}
