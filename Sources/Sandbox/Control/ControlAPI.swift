import PageParts

/// The control interface without its transport: a request goes in, a status and JSON come out.
struct ControlAPI: Sendable {
    typealias Response = PageResponse

    let service: PushService

    /// - Parameters:
    ///   - path: without the query.
    ///   - query: what follows the question mark.
    ///   - body: empty for a request without one.
    func respond(method: String, path: String, query: String = "", body: [UInt8]) -> Response {
        do throws(ControlError) {
            switch (method, path) {
            case ("GET", "/stats"):
                return json(StatsDocument(of: service))
            case ("POST", "/devices"):
                return json(["changed": try change(DevicesRequest(body: body))])
            case ("POST", "/feedback"):
                return json(["listed": try list(FeedbackRequest(body: body))])
            case ("GET", "/faults"):
                return json(FaultsDocument(of: service))
            case ("POST", "/faults"):
                carryOut(try prepare(FaultsRequest(body: body)))
                return json([String: Int]())
            case ("GET", "/accepted"):
                return try accepted(AcceptedRequest(query: query))
            case ("GET", "/notification"):
                return try lastNotification(AcceptedRequest(query: query))
            case ("POST", "/population"):
                return json(["rates": try change(PopulationRequest(body: body))])
            case ("GET", "/channels"):
                return try channels(query: query)
            case ("POST", "/subscriptions"):
                return json(["subscribers": try subscribe(SubscriptionsRequest(body: body))])
            case (_, "/stats"), (_, "/devices"), (_, "/faults"), (_, "/accepted"), (_, "/population"), (_, "/feedback"),
                (_, "/events"), (_, "/channels"), (_, "/subscriptions"), (_, "/notification"):
                return json(ControlError(field: nil, error: "\(path) does not know this method"), status: 405)
            default:
                let known =
                    "/accepted, /channels, /devices, /events, /faults, /feedback, /field, /notification, /population, "
                    + "/stats and /subscriptions"
                return json(ControlError(field: nil, error: "there is only \(known)"), status: 404)
            }
        } catch {
            return json(error, status: 400)
        }
    }

    /// - Returns: the number of app instances that were named.
    private func change(_ request: DevicesRequest) throws(ControlError) -> Int {
        let topic = try topic(request.topic)
        let now = service.now
        switch request.selection {
        case .range(let range):
            try check(range, of: topic)
            change(range, of: topic, to: request.state, now: now)
            return range.count
        case .tokens(let tokens):
            let devices = try devices(tokens, of: topic)
            change(devices, of: topic, to: request.state, now: now)
            return devices.count
        }
    }

    func check(_ range: Range<Int>, of topic: PushService.Topic) throws(ControlError) {
        let population = topic.withLedger { $0.population.count }
        guard range.upperBound <= population else {
            let error = "with \"first\" reaches device \(range.upperBound - 1), there are \(population)"
            throw ControlError(field: "count", error: error)
        }
    }

    /// In slices, so that the gateway never waits for long.
    private func change(
        _ devices: some RandomAccessCollection<Int>,
        of topic: PushService.Topic,
        to state: DevicesRequest.State,
        now: UInt32
    ) {
        var rest = devices[...]
        while !rest.isEmpty {
            let slice = rest.prefix(SandboxLimits.devicesPerSlice)
            rest = rest.dropFirst(slice.count)
            topic.withLedger { ledger in
                for device in slice {
                    state.apply(to: device, of: &ledger, now: now)
                }
            }
        }
    }

    /// All of them are valid, or were until their device was removed; or none is changed.
    private func devices(_ tokens: [[UInt8]], of topic: PushService.Topic) throws(ControlError) -> [Int] {
        let mint = service.mint(for: topic)
        var devices: [Int] = []
        devices.reserveCapacity(tokens.count)
        for (index, token) in tokens.enumerated() {
            let instance = token.withUnsafeBytes(mint.open)
            let isKnown = topic.withLedger { ledger in
                instance.map { $0.device < ledger.population.count && ledger.population.instance(Int($0.device)) == $0 }
            }
            guard let instance, isKnown == true else {
                throw ControlError(field: "tokens[\(index)]", error: "is not a token of \(topic.name)")
            }
            devices.append(Int(instance.device))
        }
        return devices
    }

    func topic(_ name: String) throws(ControlError) -> PushService.Topic {
        guard let topic = service.topic(named: name) else {
            let served = service.topics.map(\.name).joined(separator: ", ")
            throw ControlError(field: "topic", error: "is \"\(name.prefix(80))\", served are \(served)")
        }
        return topic
    }

    func json(_ document: some Encodable, status: Int = 200) -> Response {
        Response(status: status, body: DocumentJSON.encode(document))
    }
}
