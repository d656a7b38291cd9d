import APNsProtocol

/// Progress of one gateway connection through its notifications.
struct GatewayProgress: Sendable {
    /// Well-formed notifications met.
    private(set) var received = 0
    private(set) var accepted = 0
    /// Of the last accepted one.
    private(set) var lastIdentifier: UInt32 = 0
    /// The fault that ended the stream behind the last accepted notification, or silenced it.
    private(set) var ending: Fault.Name?
    /// The refusal is a fault's, not the notification's.
    private(set) var isRefusedByFault = false

    /// Kept from ``begin(_:)``: the number from which a notification is looked at more closely, and how many are
    /// accepted before the stream ends.
    private var watchFrom = Int.max
    private var endAfter = Int.max
    private var endingInSight = Fault.Name.closeAfter

    /// Takes note of the faults that are on. They do not change while a chunk is worked off: the ledger is locked.
    mutating func begin(_ interruption: FaultPlan.Interruption) {
        guard ending == nil else { return }
        let step = interruption.refusalStep
        watchFrom = step == .max ? .max : received + step - received % step
        endAfter = interruption.endAfter
        endingInSight = interruption.ending
    }

    /// **The rule for every well-formed notification**: refused by a fault, refused by the ledger, or accepted, which
    /// may be the last thing that happens on this connection.
    ///
    /// - Parameters:
    ///   - instance: what its token names, `nil` for a token that is not of this topic.
    ///   - now: UNIX seconds.
    /// - Returns: the status to refuse it with; `nil` = accepted. Behind an ending it is a status that is not seen.
    @inline(__always)
    mutating func judge(
        _ notification: NotificationView,
        for instance: AppInstance?,
        _ ledger: inout DeviceLedger,
        now: UInt32
    ) -> APNsStatus? {
        received += 1
        if received >= watchFrom, let status = refusal(of: instance, &ledger) { return status }
        if let status = ledger.accept(notification, for: instance, now: now) { return status }
        accepted += 1
        lastIdentifier = notification.identifier
        if accepted >= endAfter { end(endingInSight) }
        return nil
    }

    /// Ends the stream, whatever comes next.
    mutating func end(_ fault: Fault.Name) {
        ending = fault
        watchFrom = 0
        endAfter = .max
    }

    private mutating func refusal(of instance: AppInstance?, _ ledger: inout DeviceLedger) -> APNsStatus? {
        // The status does not matter: it only makes the decoder discard.
        guard ending == nil else { return .shutdown }
        guard ledger.faults.refuses(instance) else { return nil }
        isRefusedByFault = true
        if let instance { ledger.noteRefusal(of: instance) }
        return ledger.faults.refusal.status
    }
}
