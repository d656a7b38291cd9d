import APNsProtocol

/// One gateway connection, from the first byte after its handshake: which notifications are taken, what is answered,
/// when it ends. The topic is the certificate's [10], so it is the same for all of a connection.
///
/// Pure: bytes and the time go in, an action comes out; what is accepted changes the topic's ledger.
struct GatewaySession: Sendable {
    /// What the connection has to do.
    enum Action: Equatable, Sendable {
        /// Go on reading.
        case read
        /// Say this after the delay, if anything, then close. Reading goes on, to count what is discarded.
        case finish(answer: ErrorResponse?, delayMilliseconds: Int64)
    }

    /// Where the stream stands. It is apart from the decoder because it changes while that one is decoding.
    private struct Progress: Sendable {
        /// Well-formed notifications met.
        var received = 0
        var accepted = 0
        /// Of the last accepted one.
        var lastIdentifier: UInt32 = 0
        /// The fault that ended the stream behind the last accepted notification.
        var ending: Fault.Name?
        /// The refusal is a fault's, not the notification's.
        var refusedByFault = false
    }

    private var decoder: GatewayFrameDecoder
    private var progress = Progress()
    private var discardedBefore = 0

    /// At the beginning of a connection.
    init(limits: GatewayLimits) {
        decoder = GatewayFrameDecoder(limits: limits)
    }

    /// What this connection's notifications are held against.
    var limits: GatewayLimits { decoder.limits }

    /// Whether the last word was said: nothing that comes is accepted any more.
    var isFinished: Bool { decoder.hasFailed || progress.ending != nil }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call.
    ///   - mint: the topic's.
    ///   - now: UNIX seconds.
    /// - Returns: ``Action/finish(answer:delayMilliseconds:)`` once at most.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer,
        mint: TokenMint,
        ledger: inout TopicLedger,
        now: UInt32
    ) -> Action {
        let wasFinished = isFinished
        let interruption = ledger.faults.interruption
        var progress = progress
        let outcome = decoder.decode(bytes) { notification in
            // Behind a fault the status does not matter: it only makes the decoder discard.
            guard progress.ending == nil else { return .shutdown }
            progress.received += 1
            if progress.received >= interruption.refuseNumber {
                progress.refusedByFault = true
                return interruption.refusalStatus
            }
            if let status = ledger.accept(notification, for: mint.open(notification.token), now: now) { return status }
            progress.accepted += 1
            progress.lastIdentifier = notification.identifier
            if progress.accepted >= interruption.shutdownAfter {
                progress.ending = .shutdownAfter
            } else if progress.accepted >= interruption.closeAfter {
                progress.ending = .closeAfter
            }
            return nil
        }
        self.progress = progress
        countDiscarded(in: &ledger)
        guard !wasFinished, isFinished else { return .read }
        return finish(outcome, interruption, &ledger)
    }

    private mutating func countDiscarded(in ledger: inout TopicLedger) {
        // The decoder counts what follows the refused one. Behind a fault that one was discarded too.
        let behindFault = progress.ending != nil && decoder.hasFailed ? 1 : 0
        let discarded = decoder.discarded + behindFault
        ledger.countDiscarded(discarded - discardedBefore)
        discardedBefore = discarded
    }

    private func finish(
        _ outcome: GatewayFrameDecoder.Outcome,
        _ interruption: FaultPlan.Interruption,
        _ ledger: inout TopicLedger
    ) -> Action {
        if let ending = progress.ending {
            ledger.faults.strike(ending)
            guard ending == .shutdownAfter else { return .finish(answer: nil, delayMilliseconds: 0) }
            return answer(ErrorResponse(status: .shutdown, identifier: progress.lastIdentifier), &ledger)
        }
        guard case .failed(var response, let command) = outcome else {
            preconditionFailure("the decoder finished without saying why")
        }
        ledger.countRefusal(response.status)
        if progress.refusedByFault {
            ledger.faults.strike(.errorResponse)
            if interruption.refusalNamesNobody { response = ErrorResponse(status: response.status, identifier: 0) }
        }
        // Command 0 knows no errors: the gateway just closes [10].
        guard command != 0 else { return .finish(answer: nil, delayMilliseconds: 0) }
        return answer(response, &ledger)
    }

    private func answer(_ response: ErrorResponse, _ ledger: inout TopicLedger) -> Action {
        .finish(answer: response, delayMilliseconds: ledger.faults.takeAnswerDelay())
    }
}
