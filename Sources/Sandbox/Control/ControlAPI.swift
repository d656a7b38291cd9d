import FoundationEssentials

/// The control interface without its transport: a request goes in, a status and JSON come out.
struct ControlAPI: Sendable {
    /// What is answered.
    struct Response: Equatable {
        /// The HTTP status.
        let status: Int
        let body: [UInt8]
    }

    let service: PushService

    /// - Parameters:
    ///   - path: without the query.
    ///   - body: empty for a request without one.
    func respond(method: String, path: String, body: [UInt8]) -> Response {
        do throws(ControlError) {
            switch (method, path) {
            case ("GET", "/stats"):
                return json(StatsDocument(of: service))
            case ("POST", "/devices"):
                return json(["changed": try change(DevicesRequest(body: body))])
            case ("POST", "/faults"):
                try apply(FaultsRequest(body: body))
                return json([String: Int]())
            case (_, "/stats"), (_, "/devices"), (_, "/faults"):
                return json(ControlError(field: nil, error: "\(path) does not know this method"), status: 405)
            default:
                return json(ControlError(field: nil, error: "there is only /stats, /devices and /faults"), status: 404)
            }
        } catch {
            return json(error, status: 400)
        }
    }

    /// - Returns: the number of app instances that were named.
    private func change(_ request: DevicesRequest) throws(ControlError) -> Int {
        let topic = try topic(request.topic)
        let devices = try devices(request.selection, of: topic)
        let now = service.now
        topic.withLedger { ledger in
            for device in devices {
                ledger.set(device, request.state.reachability, now: now)
            }
        }
        return devices.count
    }

    /// All of them exist, or none is changed.
    private func devices(
        _ selection: DevicesRequest.Selection,
        of topic: PushService.Topic
    ) throws(ControlError) -> [Int] {
        let population = topic.withLedger { $0.population.count }
        switch selection {
        case .range(let range):
            guard range.upperBound <= population else {
                let error = "with \"first\" reaches device \(range.upperBound - 1), there are \(population)"
                throw ControlError(field: "count", error: error)
            }
            return Array(range)
        case .tokens(let tokens):
            let mint = service.mint(for: topic)
            var devices: [Int] = []
            devices.reserveCapacity(tokens.count)
            for (index, token) in tokens.enumerated() {
                let device = topic.withLedger { ledger in
                    token.withUnsafeBytes(mint.open)
                        .flatMap { ledger.population.reachability(of: $0) == nil ? nil : Int($0.device) }
                }
                guard let device else {
                    throw ControlError(field: "tokens[\(index)]", error: "is not a token of \(topic.name)")
                }
                devices.append(device)
            }
            return devices
        }
    }

    private func apply(_ request: FaultsRequest) throws(ControlError) {
        let topics = if let name = request.topic { [try topic(name)] } else { service.topics }
        for topic in topics {
            topic.withLedger { ledger in
                switch request.change {
                case .clear: ledger.faults.clear()
                case .arm(let fault): ledger.faults.arm(fault)
                }
            }
        }
    }

    private func topic(_ name: String) throws(ControlError) -> PushService.Topic {
        guard let topic = service.topic(named: name) else {
            let served = service.topics.map(\.name).joined(separator: ", ")
            throw ControlError(field: "topic", error: "is \"\(name.prefix(80))\", served are \(served)")
        }
        return topic
    }

    private func json(_ document: some Encodable, status: Int = 200) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Response(status: status, body: Array(try encoder.encode(document)))
        } catch {
            preconditionFailure("a document of strings and integers can be encoded: \(error)")
        }
    }
}
