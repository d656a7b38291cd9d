import APNsProtocol

/// `POST /faults`: a fault by its name with its parameters; or `{"clear":true}` for all and `{"clear":"<name>"}` for
/// one; or `{"seed":n}`, from which chances are drawn anew. All take a `topic`; without one, all topics are meant.
///
/// A fault takes `times`: how often it strikes, per topic, before it ends by itself. Those at the door (marked *)
/// strike before the topic is known and take no topic.
///
/// | name | parameters |
/// |---|---|
/// | `answer-delay`, `answer-shuffle` | `milliseconds` |
/// | `close-after`, `mute-after`, `reset-after`, `shutdown-after`, `silence-after` | `count` |
/// | `connect-rate-limit`* | `perMinute` |
/// | `connection-limit` | `count` |
/// | `error-response` | `status` (default 1); `every` (default 1), `probability` or `tokens`; `identifier` |
/// | `feedback-cut` | `bytes` |
/// | `goaway-after` | `count`, `reason` (default `Shutdown`), `code` (default `NO_ERROR`) |
/// | `refuse-certificates`*, `refuse-connects`*, `refuse-handshakes`* | – |
/// | `request-error` | `reason`, `status` (default: the reason's); `every` (default 1), `probability` or `tokens` |
/// | `round-trip` | `milliseconds` |
/// | `sentinel-silence` | – |
/// | `slow-reader` | `bytesPerSecond` |
/// | `stall-after` | `count`, `milliseconds` (default: until it is cleared) |
/// | `stream-collapse`, `window-stall` | – |
/// | `stream-limit` | `count` |
/// | `stream-reset` | `code` (default `REFUSED_STREAM`); `every` (default 1), `probability` or `tokens` |
/// | `token-clock`* | `seconds` |
/// | `window-size` | `bytes` |
///
/// The `identifier` is `own` (default), `zero` (also as `identifierZero`) or `wrong`.
struct FaultsRequest: Equatable, Sendable {
    /// The change that is asked for.
    enum Change: Equatable, Sendable {
        /// `nil` = all of them.
        case clear(Fault.Name?)
        case seed(UInt64)
        /// Tokens that are not empty stand for the app instances of the fault, which are to be found out.
        case arm(Fault, tokens: [[UInt8]])
    }

    /// `nil` = all.
    let topic: String?
    let change: Change

    init(body: [UInt8]) throws(ControlError) {
        try self.init(ControlFields(body: body))
    }

    init(_ given: ControlFields) throws(ControlError) {
        var fields = given
        topic = try fields.string("topic")
        if let value = fields.takeField("clear") {
            change = .clear(try Self.cleared(value))
        } else if let seed = try fields.integer("seed", in: 0...Int.max) {
            change = .seed(UInt64(seed))
        } else {
            change = try Self.armed(&fields)
        }
        try fields.finish()
        try checkTopic()
    }

    private func checkTopic() throws(ControlError) {
        let name: Fault.Name? =
            switch change {
            case .arm(let fault, _): fault.name
            case .clear(let name): name
            case .seed: nil
            }
        guard let name, name.isOfTheDoor, topic != nil else { return }
        throw ControlError(field: "topic", error: "is given, but \(name.rawValue) strikes before a topic is known")
    }

    private static func cleared(_ value: JSONValue) throws(ControlError) -> Fault.Name? {
        switch value {
        case .bool(true): return nil
        case .string(let text): return try name(text, field: "clear")
        default: throw ControlError(field: "clear", error: "is \(value.text), true or a fault's name is expected")
        }
    }

    private static func name(_ text: String, field: String) throws(ControlError) -> Fault.Name {
        guard let name = Fault.Name(rawValue: text) else {
            let allowed = Fault.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(field: field, error: "is \"\(text.prefix(40))\", one of \(allowed) is expected")
        }
        return name
    }

    private static func armed(_ fields: inout ControlFields) throws(ControlError) -> Change {
        let name = try name(fields.requiredString("name"), field: "name")
        var tokens: [[UInt8]] = []
        let behaviour = try behaviour(name, &fields, &tokens)
        return .arm(Fault(behaviour, times: try fields.integer("times", in: FaultLimits.count)), tokens: tokens)
    }
}

// MARK: Parameters

extension FaultsRequest {
    private static func behaviour(
        _ name: Fault.Name,
        _ fields: inout ControlFields,
        _ tokens: inout [[UInt8]]
    ) throws(ControlError) -> Fault.Behaviour {
        let limits = FaultLimits.self
        switch name {
        case .answerDelay:
            return .answerDelay(milliseconds: try milliseconds(&fields))
        case .answerShuffle, .goAwayAfter, .muteAfter, .requestError, .streamCollapse, .streamLimit, .streamReset,
            .tokenClock, .windowSize, .windowStall:
            return try requestBehaviour(name, &fields, &tokens)
        case .closeAfter:
            return .closeAfter(count: try fields.requiredInteger("count", in: limits.count))
        case .connectRateLimit:
            return .connectRateLimit(perMinute: try fields.requiredInteger("perMinute", in: limits.perMinute))
        case .connectionLimit:
            return .connectionLimit(count: try fields.requiredInteger("count", in: limits.connections))
        case .errorResponse:
            return .errorResponse(try refusal(&fields, &tokens))
        case .feedbackCut:
            return .feedbackCut(bytes: try fields.requiredInteger("bytes", in: limits.feedbackBytes))
        case .refuseCertificates: return .refuseCertificates
        case .refuseConnects: return .refuseConnects
        case .refuseHandshakes: return .refuseHandshakes
        case .resetAfter:
            return .resetAfter(count: try fields.requiredInteger("count", in: limits.count))
        case .roundTrip:
            return .roundTrip(milliseconds: try milliseconds(&fields))
        case .sentinelSilence: return .sentinelSilence
        case .shutdownAfter:
            return .shutdownAfter(count: try fields.requiredInteger("count", in: limits.count))
        case .silenceAfter:
            return .silenceAfter(count: try fields.requiredInteger("count", in: limits.count))
        case .slowReader:
            let rate = try fields.requiredInteger("bytesPerSecond", in: limits.bytesPerSecond)
            return .slowReader(bytesPerSecond: rate)
        case .stallAfter:
            return .stallAfter(
                count: try fields.requiredInteger("count", in: limits.count),
                milliseconds: try fields.integer("milliseconds", in: limits.stallMilliseconds).map { Int64($0) }
            )
        }
    }

    static func milliseconds(_ fields: inout ControlFields) throws(ControlError) -> Int64 {
        Int64(try fields.requiredInteger("milliseconds", in: FaultLimits.milliseconds))
    }

    private static func refusal(
        _ fields: inout ControlFields,
        _ tokens: inout [[UInt8]]
    ) throws(ControlError) -> Fault.Refusal {
        let status = try fields.integer("status", in: 0...255) ?? Int(APNsStatus.processingError.rawValue)
        // Its identifier would name a notification that was refused, the contrary of what 10 says.
        guard status != Int(APNsStatus.shutdown.rawValue) else {
            throw ControlError(field: "status", error: "is 10, which is what shutdown-after is for")
        }
        return Fault.Refusal(
            status: APNsStatus(rawValue: UInt8(status)),
            selection: try selection(&fields, &tokens),
            identifier: try identifier(&fields)
        )
    }

    static func selection(
        _ fields: inout ControlFields,
        _ tokens: inout [[UInt8]]
    ) throws(ControlError) -> Fault.Refusal.Selection {
        let given = ["every", "probability", "tokens"].filter(fields.has)
        guard given.count <= 1 else {
            throw ControlError(field: given[1], error: "is given beside \"\(given[0])\", one of them is expected")
        }
        if let texts = try fields.strings("tokens") {
            tokens = try decode(texts)
            return .instances([])
        }
        if let probability = try fields.number("probability", in: 0...1) { return .probability(probability) }
        return .every(try fields.integer("every", in: FaultLimits.count) ?? 1)
    }

    private static func decode(_ texts: [String]) throws(ControlError) -> [[UInt8]] {
        guard FaultLimits.tokens.contains(texts.count) else {
            let allowed = "\(FaultLimits.tokens.lowerBound) to \(FaultLimits.tokens.upperBound)"
            throw ControlError(field: "tokens", error: "has \(texts.count) elements, \(allowed) are expected")
        }
        var tokens: [[UInt8]] = []
        for (index, text) in texts.enumerated() {
            do {
                tokens.append(try Hex.decode(text))
            } catch {
                throw ControlError(field: "tokens[\(index)]", error: error.description)
            }
        }
        return tokens
    }

    private static func identifier(
        _ fields: inout ControlFields
    ) throws(ControlError) -> Fault.Refusal.Identifier {
        let text = try fields.string("identifier")
        let isZero = try fields.flag("identifierZero")
        guard let text else { return isZero ? .zero : .own }
        guard let identifier = Fault.Refusal.Identifier(rawValue: text) else {
            let allowed = Fault.Refusal.Identifier.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(field: "identifier", error: "is \"\(text.prefix(40))\", one of \(allowed) is expected")
        }
        guard !isZero || identifier == .zero else {
            throw ControlError(field: "identifierZero", error: "is true, but \"identifier\" is \"\(text)\"")
        }
        return identifier
    }
}
