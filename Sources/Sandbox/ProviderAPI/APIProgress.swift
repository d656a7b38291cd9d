import APNsProtocol
import HTTP2Transport

/// Progress of one connection to the provider API through its requests, and the faults on its way.
///
/// Pure: what is accepted changes the topic's ledger.
struct APIProgress: Sendable {
    /// The end of the connection's use, by a fault.
    enum Ending: Equatable, Sendable {
        /// The end of the stream, in order.
        case close
        /// A reset of the connection.
        case reset
        /// Nothing is looked at or said any more.
        case silence
        /// Requests are taken and not answered.
        case mute
        /// Streams above the last one are not processed.
        case goAway(last: HTTP2StreamID, HTTP2ErrorCode, reason: String)
    }

    /// Requests met.
    private var received = 0
    private(set) var accepted = 0
    private(set) var ending: Ending?
    /// The fault `connection-limit` has ended the connection.
    private(set) var isOverLimit = false
    /// The last `stall-after` that struck here: each does so once.
    private var lastStall = 0

    /// Decides on a request that is in order, and writes any into the books.
    ///
    /// - Parameter now: UNIX seconds.
    @inline(__always)
    mutating func judge(_ request: inout APIRequest, _ ledger: inout DeviceLedger, now: UInt32) {
        guard takes(request.stream) else {
            request.ruling = .ignored
            ledger.countDiscarded(1)
            return
        }
        received += 1
        let isQuiet = ledger.faults.requests.isQuiet
        if !isQuiet { befall(&request, &ledger, now) }
        if request.ruling == nil { request.accept(&ledger, now: now) }
        switch request.ruling {
        case .accepted: accepted += 1
        case .refused(let refusal): ledger.countRefusal(refusal)
        case .reset, .ignored, nil: break
        }
        if !isQuiet { follow(&request, &ledger) }
    }

    /// A stop that the connection is to make now, once.
    mutating func takeStall(_ ledger: inout DeviceLedger) -> FaultPlan.Stall? {
        let faults = ledger.faults.requests
        guard accepted >= faults.stallAfter, faults.stallArming != lastStall else { return nil }
        lastStall = faults.stallArming
        return ledger.faults.takeStall()
    }

    /// A topic whose requests have begun to come has enough connections: from now on nothing is looked at.
    mutating func exceedLimit() {
        guard ending == nil else { return }
        ending = .close
        isOverLimit = true
    }

    /// A request on this stream is looked at.
    @inline(__always)
    func takes(_ stream: HTTP2StreamID) -> Bool {
        guard let ending else { return true }
        return if case .goAway(let last, _, _) = ending { stream <= last } else { false }
    }

    /// Faults that take the place of the service's own decision.
    private mutating func befall(_ request: inout APIRequest, _ ledger: inout DeviceLedger, _ now: UInt32) {
        guard request.ruling == nil else { return }
        // Nil: the request is about channels.
        let instance = request.order?.instance
        let faults = ledger.faults.requests
        if let error = faults.error, received % faults.errorStep == 0,
            ledger.faults.selects(instance, error.selection)
        {
            ledger.faults.strike(.requestError)
            if let instance { ledger.noteRefusal(of: instance) }
            let timestamp = error.status == 410 ? Int64(now) * 1000 : nil
            request.ruling = .refused(
                RequestRefusal(status: error.status, error.reason, timestampMilliseconds: timestamp)
            )
        } else if let reset = faults.reset, received % faults.resetStep == 0,
            ledger.faults.selects(instance, reset.selection)
        {
            ledger.faults.strike(.streamReset)
            if reset.code == .refusedStream {
                ledger.countDiscarded(1)
            } else {
                request.accept(&ledger, now: now)
                if case .accepted = request.ruling { accepted += 1 }
            }
            request.ruling = .reset(reset.code)
        }
    }

    /// Faults that follow from what was decided.
    private mutating func follow(_ request: inout APIRequest, _ ledger: inout DeviceLedger) {
        if case .refused(let refusal) = request.ruling, refusal.slowsConnection,
            ledger.faults.requests.shape.collapsesStreams
        {
            request.collapsesStreams = true
            ledger.faults.strike(.streamCollapse)
        }
        request.delayMilliseconds = ledger.faults.takeRequestDelay()
        let faults = ledger.faults.requests
        guard ending == nil, accepted >= faults.endAfter, let behaviour = faults.ending else { return }
        ending = Self.ending(behaviour, at: request.stream)
        ledger.faults.strike(Fault(behaviour).name)
    }

    private static func ending(_ behaviour: Fault.Behaviour, at stream: HTTP2StreamID) -> Ending {
        switch behaviour {
        case .resetAfter: .reset
        case .silenceAfter: .silence
        case .muteAfter: .mute
        case .shutdownAfter: .goAway(last: stream, .noError, reason: ProviderReason.shutdown.rawValue)
        case .goAwayAfter(let goAway): .goAway(last: stream, goAway.code, reason: goAway.reason)
        default: .close
        }
    }
}

extension RequestRefusal {
    /// It adds to those for which the service slows a connection down: a rejection other than 410 [later].
    var slowsConnection: Bool { (400...499).contains(status) && status != 410 }
}
