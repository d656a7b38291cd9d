import APNsProtocol

/// `POST /faults`: `{"clear":true}`, or a fault by its name with its parameters. Both take a `topic`; without one, all
/// topics are meant. A fault takes `times`: how often it strikes, per topic, before it ends by itself.
///
/// | name | parameters |
/// |---|---|
/// | `answer-delay` | `milliseconds` |
/// | `close-after` | `count` |
/// | `error-response` | `status` (default 1), `every` (default 1), `identifierZero` (default false) |
/// | `shutdown-after` | `count` |
struct FaultsRequest: Equatable {
    /// What is asked for.
    enum Change: Equatable {
        case clear
        case arm(Fault)
    }

    /// `nil` = all.
    let topic: String?
    let change: Change

    init(body: [UInt8]) throws(ControlError) {
        var fields = try ControlFields(body: body)
        topic = try fields.string("topic")
        if fields.has("clear") {
            guard try fields.flag("clear") else {
                throw ControlError(field: "clear", error: "is false, true or a fault's name is expected")
            }
            change = .clear
        } else {
            change = .arm(try Self.fault(&fields))
        }
        try fields.finish()
    }

    private static func fault(_ fields: inout ControlFields) throws(ControlError) -> Fault {
        let text = try fields.requiredString("name")
        guard let name = Fault.Name(rawValue: text) else {
            let allowed = Fault.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(field: "name", error: "is \"\(text.prefix(40))\", one of \(allowed) is expected")
        }
        let behaviour = try behaviour(name, &fields)
        return Fault(behaviour, times: try fields.integer("times", in: 1...Int.max))
    }

    private static func behaviour(
        _ name: Fault.Name,
        _ fields: inout ControlFields
    ) throws(ControlError) -> Fault.Behaviour {
        switch name {
        case .answerDelay:
            let range = SandboxLimits.answerDelayMilliseconds
            return .answerDelay(milliseconds: Int64(try fields.requiredInteger("milliseconds", in: range)))
        case .closeAfter:
            return .closeAfter(count: try fields.requiredInteger("count", in: 1...Int.max))
        case .shutdownAfter:
            return .shutdownAfter(count: try fields.requiredInteger("count", in: 1...Int.max))
        case .errorResponse:
            let status = try fields.integer("status", in: 0...255) ?? Int(APNsStatus.processingError.rawValue)
            // Its identifier would name a notification that was refused, the contrary of what 10 says.
            guard status != Int(APNsStatus.shutdown.rawValue) else {
                throw ControlError(field: "status", error: "is 10, which is what shutdown-after is for")
            }
            return .errorResponse(
                status: APNsStatus(rawValue: UInt8(status)),
                every: try fields.integer("every", in: 1...Int.max) ?? 1,
                identifierZero: try fields.flag("identifierZero")
            )
        }
    }
}
