import APNsProtocol

/// `GET /faults`: the faults that are on, each with the parameters it was switched on with. One that is on for several
/// topics is listed for each, in the order of the topics; those at the door come first and have no topic.
struct FaultsDocument: Encodable {
    /// Absent fields are not parameters of the fault.
    struct Entry: Encodable {
        let name: String
        var topic: String?
        /// Since it was switched on.
        let strikes: Int
        /// Strikes before the fault ends, in all and still to come. Absent: until it is cleared.
        let times: Int?
        let left: Int?
        var bytes: Int?
        var bytesPerSecond: Int?
        var code: String?
        var count: Int?
        var every: Int?
        var identifier: String?
        var milliseconds: Int64?
        var perMinute: Int?
        var probability: Double?
        var reason: String?
        var seconds: Int?
        var status: Int?
        var tokens: [String]?
    }

    let faults: [Entry]

    /// A snapshot: each topic consistent in itself.
    init(of service: PushService) {
        var faults = service.withDoor { $0.listed }.map { Entry($0, of: nil, mint: nil) }
        for topic in service.topics {
            let mint = service.mint(for: topic)
            faults += topic.withLedger { $0.faults.listed }.map { Entry($0, of: topic.name, mint: mint) }
        }
        self.faults = faults
    }
}

extension FaultsDocument.Entry {
    /// - Parameter mint: for a fault of a topic.
    fileprivate init(_ entry: ArmedFaults.Entry, of topic: String?, mint: TokenMint?) {
        let fault = entry.fault
        self.init(
            name: fault.name.rawValue,
            topic: topic,
            strikes: entry.strikes,
            times: fault.times,
            left: entry.left
        )
        switch fault.behaviour {
        case .answerDelay(let milliseconds), .answerShuffle(let milliseconds), .roundTrip(let milliseconds):
            self.milliseconds = milliseconds
        case .closeAfter(let count), .connectionLimit(let count), .muteAfter(let count), .resetAfter(let count),
            .shutdownAfter(let count), .silenceAfter(let count), .streamLimit(let count):
            self.count = count
        case .connectRateLimit(let perMinute): self.perMinute = perMinute
        case .errorResponse(let refusal): describe(refusal, mint)
        case .feedbackCut(let bytes), .windowSize(let bytes): self.bytes = bytes
        case .goAwayAfter(let goAway):
            count = goAway.count
            reason = goAway.reason
            code = "\(goAway.code)"
        case .refuseCertificates, .refuseConnects, .refuseHandshakes, .sentinelSilence, .streamCollapse, .windowStall:
            break
        case .requestError(let error):
            status = error.status
            reason = error.reason.rawValue
            describe(error.selection, mint)
        case .streamReset(let reset):
            code = "\(reset.code)"
            describe(reset.selection, mint)
        case .tokenClock(let seconds): self.seconds = seconds
        case .slowReader(let bytesPerSecond): self.bytesPerSecond = bytesPerSecond
        case .stallAfter(let count, let milliseconds):
            self.count = count
            self.milliseconds = milliseconds
        }
    }

    private mutating func describe(_ refusal: Fault.Refusal, _ mint: TokenMint?) {
        status = Int(refusal.status.rawValue)
        identifier = refusal.identifier.rawValue
        describe(refusal.selection, mint)
    }

    private mutating func describe(_ selection: Fault.Refusal.Selection, _ mint: TokenMint?) {
        switch selection {
        case .every(let number): every = number
        case .probability(let probability): self.probability = probability
        case .instances(let instances):
            guard let mint else { preconditionFailure("tokens are of a topic") }
            tokens = instances.sorted { ($0.device, $0.generation) < ($1.device, $1.generation) }
                .map { Hex.encode(mint.token(of: $0)) }
        }
    }
}
