import APNsProtocol
import PushSchemas

/// The fields of a request that only the provider API takes, before its payloads are judged.
///
/// There are none in an environment with the binary interface, to which push type and collapse id mean nothing: there
/// they are not judged either.
package struct UnjudgedProviderFields: Sendable {
    /// See ``ProviderTerms/namedPushType(of:)``.
    let named: PushType?
    let collapseID: [UInt8]
    let isBroadcast: Bool

    /// - Throws: `collapse-id-invalid`.
    init(_ request: SendRequestView, named: PushType?) throws(RecordRefusal) {
        guard request.collapseID.isEmpty || CollapseID.isValid(request.collapseID) else {
            throw RecordRefusal(
                reason: "collapse-id-invalid",
                detail: "'collapse_id' has \(request.collapseID.count) bytes and cannot be a header's value; allowed: "
                    + "1 to \(CollapseID.limitBytes) bytes without control characters, and without spaces at its ends"
            )
        }
        self.named = named
        collapseID = Array(request.collapseID)
        isBroadcast = request.isBroadcast
    }
}

/// The part of a request that only the provider API takes, judged for one payload.
package struct ProviderTerms: Sendable {
    /// As named, or inferred from the payload.
    package let pushType: PushType
    package let priority: ProviderPriority
    /// The value of `apns-collapse-id`, 1 to 64 bytes; empty: none.
    package let collapseID: [UInt8]
    /// The request is for a channel, whose id stands in place of a token.
    package let isBroadcast: Bool

    /// Judges the fields of a request for one payload.
    ///
    /// - Parameters:
    ///   - priority: of the request, fitted to the payload; nil: not said.
    ///   - inferred: the push type of the payload, asked for if the request names none.
    /// - Throws: `priority-invalid`.
    init(
        _ request: UnjudgedProviderFields,
        priority: UInt8?,
        inferred: @autoclosure () -> PushType
    ) throws(RecordRefusal) {
        pushType = request.named ?? inferred()
        self.priority = try Self.fitted(priority, named: request.named, pushType)
        collapseID = request.collapseID
        isBroadcast = request.isBroadcast
    }

    /// The push type that a request names; nil: none. A broadcast has only one, and need not name it.
    ///
    /// - Throws: `push-type-invalid`.
    package static func namedPushType(of request: SendRequestView) throws(RecordRefusal) -> PushType? {
        guard !request.pushType.isEmpty else { return request.isBroadcast ? .liveactivity : nil }
        let name = String(decoding: request.pushType, as: UTF8.self)
        guard let pushType = PushType(rawValue: name) else {
            let allowed = PushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordRefusal(
                reason: "push-type-invalid",
                detail: "'push_type' is '\(printable(name))'; allowed: \(allowed)"
            )
        }
        return pushType
    }

    /// A priority and a push type that a publisher names have to fit. To an inferred push type the priority is fitted,
    /// because that is no word of the publisher's. [ours]
    private static func fitted(
        _ number: UInt8?,
        named: PushType?,
        _ pushType: PushType
    ) throws(RecordRefusal) -> ProviderPriority {
        guard let number else { return pushType.allowed(.immediate) }
        guard let priority = ProviderPriority(rawValue: number) else {
            preconditionFailure("the schema takes the priorities of the provider API only")
        }
        guard let named, !named.allows(priority) else { return pushType.allowed(priority) }
        let allowed = ProviderPriority.allCases.filter(named.allows).map { "\($0.rawValue)" }
        throw RecordRefusal(
            reason: RecordFault.priorityInvalid.rawValue,
            detail: "'priority' is \(number); allowed for the push type \(named.rawValue): "
                + allowed.joined(separator: ", ")
        )
    }
}

extension NotificationPriority {
    /// The priority of a request over the binary interface.
    ///
    /// - Parameter number: nil: not said.
    /// - Throws: `priority-invalid` for one that only the provider API has.
    init(ofRequest number: UInt8?) throws(RecordRefusal) {
        guard let number else {
            self = .immediate
            return
        }
        guard let priority = NotificationPriority(rawValue: number) else {
            throw RecordRefusal(
                reason: RecordFault.priorityInvalid.rawValue,
                detail: "'priority' is \(number); allowed over the binary interface: 10, 5"
            )
        }
        self = priority
    }
}
