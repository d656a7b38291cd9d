import APNsProtocol
import HTTP2Transport

/// A request of a connection on its way through the service.
struct APIRequest {
    let stream: HTTP2StreamID
    /// Valid until the connection's next bytes.
    let message: HTTP2Message
    /// The number of the topic in whose books the request stands; nil: it names none that is served.
    let topic: Int?
    /// Nil for a request that was refused at once.
    let order: APIOrder?
    /// Of a request about channels; it has no order then.
    var channels: ChannelRequest?
    /// Nil: not decided yet.
    var ruling: APIRuling?
    /// A fault holds the answer back.
    var delayMilliseconds: Int64 = 0
    /// A fault leaves the connection one stream behind the answer.
    var collapsesStreams = false
}

/// The decision about a request.
enum APIRuling {
    case accepted
    case refused(RequestRefusal)
    /// The stream is reset by a fault.
    case reset(HTTP2ErrorCode)
    /// There will be no answer.
    case ignored
}

/// The content of a request in order, but for its payload.
struct APIOrder {
    let instance: AppInstance
    /// UNIX seconds; 0: not to be stored. `UInt32.max`: for as long as the service stores.
    let expiration: UInt32
    let priority: ProviderPriority
    let pushType: PushType
    let collapseID: [UInt8]?
}

extension APIRequest {
    /// The refusal of a request that is refused.
    var refusal: RequestRefusal? {
        if case .refused(let refusal) = ruling { refusal } else { nil }
    }

    /// Lets the ledger decide on a request in order.
    @inline(__always)
    mutating func accept(_ ledger: inout DeviceLedger, now: UInt32) {
        guard let order else { return carryOut(&ledger, now: now) }
        let refusal = message.withBody { payload in
            order.withNotification(payload: payload) { ledger.accept($0, for: order.instance, now: now) }
        }
        ruling = refusal.map(APIRuling.refused) ?? .accepted
    }

    /// Carries out a request about channels.
    private mutating func carryOut(_ ledger: inout DeviceLedger, now: UInt32) {
        guard let channels else { return }
        let refusal = message.withBody { channels.carryOut(on: &ledger, payload: $0, now: now) }
        ruling = refusal.map(APIRuling.refused) ?? .accepted
    }
}

extension APIOrder {
    /// Lends the notification in the form of the books.
    @inline(__always)
    fileprivate func withNotification<Result>(
        payload: UnsafeRawBufferPointer,
        _ body: (RoutedNotification) -> Result
    ) -> Result {
        guard let collapseID else { return body(notification(payload, UnsafeRawBufferPointer(start: nil, count: 0))) }
        return collapseID.withUnsafeBytes { body(notification(payload, $0)) }
    }

    private func notification(
        _ payload: UnsafeRawBufferPointer,
        _ collapseID: UnsafeRawBufferPointer
    ) -> RoutedNotification {
        RoutedNotification(
            expiration: expiration,
            priority: priority,
            payload: payload,
            pushType: pushType,
            collapseID: collapseID
        )
    }
}
