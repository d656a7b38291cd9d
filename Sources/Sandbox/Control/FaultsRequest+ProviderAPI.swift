import APNsProtocol
import HTTP2Transport

/// Parameters of the faults that only the provider API has.
extension FaultsRequest {
    /// - Parameter name: one of those; others trap.
    static func requestBehaviour(
        _ name: Fault.Name,
        _ fields: inout ControlFields,
        _ tokens: inout [[UInt8]]
    ) throws(ControlError) -> Fault.Behaviour {
        let limits = FaultLimits.self
        switch name {
        case .answerShuffle:
            return .answerShuffle(milliseconds: try milliseconds(&fields))
        case .goAwayAfter:
            return .goAwayAfter(try goAway(&fields))
        case .muteAfter:
            return .muteAfter(count: try fields.requiredInteger("count", in: limits.count))
        case .requestError:
            return .requestError(try requestError(&fields, &tokens))
        case .streamCollapse:
            return .streamCollapse
        case .streamLimit:
            return .streamLimit(count: try fields.requiredInteger("count", in: limits.streams))
        case .streamReset:
            let code = try code(&fields) ?? .refusedStream
            return .streamReset(Fault.StreamReset(code: code, selection: try selection(&fields, &tokens)))
        case .tokenClock:
            return .tokenClock(seconds: try fields.requiredInteger("seconds", in: limits.clockSeconds))
        case .windowSize:
            return .windowSize(bytes: try fields.requiredInteger("bytes", in: limits.windowBytes))
        case .windowStall:
            return .windowStall
        default:
            preconditionFailure("\(name.rawValue) is not the provider API's alone")
        }
    }

    private static func goAway(_ fields: inout ControlFields) throws(ControlError) -> Fault.GoAway {
        Fault.GoAway(
            count: try fields.requiredInteger("count", in: FaultLimits.count),
            reason: try reason(&fields) ?? "Shutdown",
            code: try code(&fields) ?? .noError
        )
    }

    private static func requestError(
        _ fields: inout ControlFields,
        _ tokens: inout [[UInt8]]
    ) throws(ControlError) -> Fault.RequestError {
        guard let text = try reason(&fields) else { throw fields.missing("reason") }
        let reason = ProviderReason(rawValue: text)
        let status = try fields.integer("status", in: FaultLimits.requestStatuses)
        guard status != nil || reason.entry != nil else {
            throw ControlError(field: "status", error: "is missing, and \"\(text)\" has no usual one")
        }
        return Fault.RequestError(status: status, reason: reason, selection: try selection(&fields, &tokens))
    }

    /// A text that needs no escapes in JSON.
    private static func reason(_ fields: inout ControlFields) throws(ControlError) -> String? {
        guard let text = try fields.string("reason") else { return nil }
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard isPlain, FaultLimits.reasonBytes.contains(text.utf8.count) else {
            let allowed = "1 to \(FaultLimits.reasonBytes.upperBound) characters of ASCII without quotes"
            throw ControlError(field: "reason", error: "is \"\(text.prefix(40))\", \(allowed) are expected")
        }
        return text
    }

    private static func code(_ fields: inout ControlFields) throws(ControlError) -> HTTP2ErrorCode? {
        guard let text = try fields.string("code") else { return nil }
        guard let code = HTTP2ErrorCode(name: text) else {
            throw ControlError(field: "code", error: "is \"\(text.prefix(40))\", as in REFUSED_STREAM is expected")
        }
        return code
    }
}
