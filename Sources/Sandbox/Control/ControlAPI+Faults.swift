/// A change of faults that was found to be possible: carrying it out cannot fail.
struct FaultChange: Sendable {
    enum Kind: Sendable {
        /// `nil` = all of them.
        case clear(Fault.Name?)
        case seed(UInt64)
        case arm(Fault)
    }

    /// The topics that the change is for.
    let topics: [PushService.Topic]
    /// The change is, or may be, for the door.
    let isForTheDoor: Bool
    let kind: Kind
}

extension ControlAPI {
    /// Finds out what a request is about.
    func prepare(_ request: FaultsRequest) throws(ControlError) -> FaultChange {
        let topics = if let name = request.topic { [try topic(name)] } else { service.topics }
        let isForAll = request.topic == nil
        switch request.change {
        case .clear(let name):
            return FaultChange(topics: topics, isForTheDoor: isForAll, kind: .clear(name))
        case .seed(let seed):
            return FaultChange(topics: topics, isForTheDoor: false, kind: .seed(seed))
        case .arm(let fault, let tokens):
            let isForTheDoor = fault.name.isOfTheDoor
            let fault = tokens.isEmpty ? fault : try resolve(fault, tokens, topics)
            return FaultChange(topics: isForTheDoor ? [] : topics, isForTheDoor: isForTheDoor, kind: .arm(fault))
        }
    }

    func carryOut(_ change: FaultChange) {
        if change.isForTheDoor {
            service.withDoor { door in
                switch change.kind {
                case .clear(let name): door.clear(name)
                case .seed: break
                case .arm(let fault): door.arm(fault)
                }
            }
        }
        for topic in change.topics {
            topic.changeFaults { plan in
                switch change.kind {
                case .clear(let name): plan.clear(name)
                case .seed(let seed): plan.seed(seed)
                case .arm(let fault): plan.arm(fault)
                }
            }
        }
        service.bell.ring()
    }

    /// The fault with the app instances that its tokens name, each of which exists.
    private func resolve(
        _ fault: Fault,
        _ tokens: [[UInt8]],
        _ topics: [PushService.Topic]
    ) throws(ControlError) -> Fault {
        guard topics.count == 1, let topic = topics.first else {
            throw ControlError(field: "topic", error: "is missing, and \"tokens\" are of one topic")
        }
        let mint = service.mint(for: topic)
        var instances = Set<AppInstance>()
        for (index, token) in tokens.enumerated() {
            guard let instance = token.withUnsafeBytes(mint.open),
                topic.withLedger({ $0.population.reachability(of: instance) }) != nil
            else {
                throw ControlError(field: "tokens[\(index)]", error: "is not a token of \(topic.name)")
            }
            instances.insert(instance)
        }
        guard let resolved = fault.selecting(instances) else {
            preconditionFailure("\(fault.name.rawValue) is not for tokens")
        }
        return resolved
    }
}
