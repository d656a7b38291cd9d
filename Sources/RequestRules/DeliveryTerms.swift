import APNsProtocol
import PushSchemas

/// The terms on which the service delivers one payload, as the interface of its environment takes them.
///
/// Payloads of one record may differ in them: some have an alert, some only wake the app.
package enum DeliveryTerms: Sendable, Equatable {
    /// Push type and collapse id mean nothing to the binary interface, and are not judged for it.
    case binary(NotificationPriority)
    /// The push type is as named, or inferred from the payload. The collapse id has up to 64 bytes; empty: none.
    case http2(pushType: PushType, priority: ProviderPriority, collapseID: [UInt8], isBroadcast: Bool)

    /// The push type that the credential has to be good for; nil: over the binary interface every one is.
    ///
    /// A broadcast is for the app itself, and goes with certificates, too [later]: it counts as an alert.
    package var credentialType: PushType? {
        guard case .http2(let pushType, _, _, let isBroadcast) = self else { return nil }
        return isBroadcast ? .alert : pushType
    }

    /// The request is for a channel, whose id stands in place of a token.
    package var isBroadcast: Bool {
        guard case .http2(_, _, _, let isBroadcast) = self else { return false }
        return isBroadcast
    }

    /// The kind of topic. The terms of all payloads of a request have the same.
    package var topicKind: TopicKind {
        switch self {
        case .binary: .app
        case .http2(let pushType, _, _, _): pushType.topicKind
        }
    }
}

extension JudgedRequest {
    /// Judges the terms of one of the request's payloads.
    ///
    /// - Parameters:
    ///   - priority: of the request, fitted to the payload; nil: not said.
    ///   - payload: stripped and checked.
    /// - Throws: `priority-invalid`.
    package func terms(priority: UInt8?, of payload: UnsafeRawBufferPointer) throws(RecordRefusal) -> DeliveryTerms {
        guard transport == .binary else {
            return try terms(priority: priority, inferred: PushType(inferredFrom: payload))
        }
        // As for an inferred push type over HTTP/2: otherwise each token would cost two connections. [ours]
        return .binary(try Self.binaryPriority(priority).allowed(for: payload))
    }

    /// The same for a payload that need not be read again.
    ///
    /// - Parameter inferred: the push type that would be read of it.
    func terms(priority: UInt8?, inferred: @autoclosure () -> PushType) throws(RecordRefusal) -> DeliveryTerms {
        switch transport {
        case .binary:
            let priority = try Self.binaryPriority(priority)
            return .binary(inferred() == .background ? .powerSaving : priority)
        case .http2:
            let pushType = namedPushType ?? inferred()
            let priority = try fitted(priority, to: pushType)
            return .http2(pushType: pushType, priority: priority, collapseID: collapseID, isBroadcast: isBroadcast)
        }
    }

    private static func binaryPriority(_ number: UInt8?) throws(RecordRefusal) -> NotificationPriority {
        guard let number else { return .immediate }
        guard let priority = NotificationPriority(rawValue: number) else {
            throw RecordRefusal(
                reason: RecordFault.priorityInvalid.rawValue,
                detail: "'priority' is \(number); allowed over the binary interface: 10, 5"
            )
        }
        return priority
    }

    /// A priority and a push type that a publisher names have to fit. To an inferred push type the priority is fitted,
    /// because that is no word of the publisher's. [ours]
    private func fitted(_ number: UInt8?, to pushType: PushType) throws(RecordRefusal) -> ProviderPriority {
        guard let number else { return pushType.allowed(.immediate) }
        guard let priority = ProviderPriority(rawValue: number) else {
            preconditionFailure("the schema takes the priorities of the provider API only")
        }
        guard let named = namedPushType, !named.allows(priority) else { return pushType.allowed(priority) }
        let allowed = ProviderPriority.allCases.filter(named.allows).map { "\($0.rawValue)" }
        throw RecordRefusal(
            reason: RecordFault.priorityInvalid.rawValue,
            detail: "'priority' is \(number); allowed for the push type \(named.rawValue): "
                + allowed.joined(separator: ", ")
        )
    }
}
