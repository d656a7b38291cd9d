import APNsProtocol

/// One gateway connection, from the first byte after its handshake: which notifications are taken, what is answered,
/// when it ends. The topic is the certificate's [10], so it is the same for all of a connection.
///
/// Pure: bytes and the time go in, an action comes out; what is accepted changes the topic's ledger.
struct GatewaySession: Sendable {
    /// The next action of the connection.
    enum Action: Equatable, Sendable {
        /// Go on reading.
        case read
        /// Say this after the delay, if anything, then close. Reading goes on, to count what is discarded.
        case finish(answer: ErrorResponse?, delayMilliseconds: Int64)
        /// Cut the connection with a reset.
        case reset
        /// Stop reading. Only so many bytes of the chunk were taken: the rest is to come again.
        case stall(takenBytes: Int, FaultPlan.Stall)
    }

    private var decoder: GatewayFrameDecoder
    private var progress = GatewayProgress()
    private var discardedBefore = 0
    /// The last `stall-after` that struck here: each does so once.
    private var lastStall = 0

    /// At the beginning of a connection.
    init(limits: GatewayLimits) {
        decoder = GatewayFrameDecoder(limits: limits)
    }

    /// Bytes held of a notification that is not complete.
    var bufferedBytes: Int { decoder.bufferedBytes }

    /// Limits that this connection's notifications are held against.
    var limits: GatewayLimits { decoder.limits }

    /// The last word was said. Nothing that comes is accepted any more.
    var isFinished: Bool { decoder.hasFailed || progress.ending != nil }

    /// Nothing will be said, not even an end, until the peer closes.
    var isSilent: Bool { progress.ending == .silenceAfter || progress.ending == .sentinelSilence }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call.
    ///   - mint: the topic's.
    ///   - now: UNIX seconds.
    /// - Returns: ``Action/finish(answer:delayMilliseconds:)`` or ``Action/reset`` once at most.
    mutating func receive(
        _ bytes: UnsafeRawBufferPointer,
        mint: TokenMint,
        ledger: inout DeviceLedger,
        now: UInt32
    ) -> Action {
        guard !isFinished else {
            _ = decoder.decode(bytes) { _ in .shutdown }
            countDiscarded(in: &ledger)
            return .read
        }
        let interruption = ledger.faults.interruption
        let takenBytes = interruption.stallAfter == .max ? nil : lengthBeforeStall(bytes, interruption)
        let outcome = decode(bytes[..<(takenBytes ?? bytes.count)], interruption, mint, &ledger, now)
        if isFinished {
            if let takenBytes {
                _ = decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[takenBytes...])) { _ in .shutdown }
            }
            countDiscarded(in: &ledger)
            return finish(outcome, &ledger)
        }
        guard let takenBytes else { return .read }
        lastStall = interruption.stallArming
        return .stall(takenBytes: takenBytes, ledger.faults.takeStall())
    }

    private mutating func decode(
        _ bytes: Slice<UnsafeRawBufferPointer>,
        _ interruption: FaultPlan.Interruption,
        _ mint: TokenMint,
        _ ledger: inout DeviceLedger,
        _ now: UInt32
    ) -> GatewayFrameDecoder.Outcome {
        // A copy, because the session must not be touched while its decoder is decoding.
        var progress = progress
        progress.begin(interruption)
        let chunk = UnsafeRawBufferPointer(rebasing: bytes)
        let outcome = OpenedTokens.with(chunk, mint) { tokens in
            decoder.decode(chunk) { notification in
                let instance = tokens.instance(for: notification) { ledger.anticipate($0) }
                return progress.judge(notification, for: instance, &ledger, now: now)
            }
        }
        self.progress = progress
        return outcome
    }

    /// Bytes of a chunk to take before a stall begins; `nil` = none begins.
    private func lengthBeforeStall(_ bytes: UnsafeRawBufferPointer, _ interruption: FaultPlan.Interruption) -> Int? {
        guard interruption.stallArming != lastStall else { return nil }
        return decoder.lengthBytes(of: max(1, interruption.stallAfter - progress.accepted), in: bytes)
    }

    private mutating func countDiscarded(in ledger: inout DeviceLedger) {
        // The decoder counts what follows the refused one. Behind a fault that one was discarded too.
        let isBehindFault = progress.ending != nil && progress.ending != .sentinelSilence && decoder.hasFailed
        let discarded = decoder.discarded + (isBehindFault ? 1 : 0)
        ledger.countDiscarded(discarded - discardedBefore)
        discardedBefore = discarded
    }

    private mutating func finish(_ outcome: GatewayFrameDecoder.Outcome, _ ledger: inout DeviceLedger) -> Action {
        if let ending = progress.ending {
            ledger.faults.strike(ending)
            switch ending {
            case .shutdownAfter:
                return answer(ErrorResponse(status: .shutdown, identifier: progress.lastIdentifier), &ledger)
            case .silenceAfter: return .read
            case .resetAfter: return .reset
            default: return .finish(answer: nil, delayMilliseconds: 0)
            }
        }
        guard case .failed(let response, let command) = outcome else {
            preconditionFailure("the decoder finished without saying why")
        }
        ledger.countRefusal(response.status)
        guard progress.isRefusedByFault else {
            if response.status == .missingDeviceToken, ledger.faults.interruption.silencesSentinel {
                progress.end(.sentinelSilence)
                ledger.faults.strike(.sentinelSilence)
                return .read
            }
            return answer(response, command: command, &ledger)
        }
        let identifier = ledger.faults.refusal.identifier.named(for: response.identifier)
        ledger.faults.strike(.errorResponse)
        return answer(ErrorResponse(status: response.status, identifier: identifier), command: command, &ledger)
    }

    /// - Parameter command: the one of the notification that is answered.
    private func answer(_ response: ErrorResponse, command: UInt8 = 2, _ ledger: inout DeviceLedger) -> Action {
        // Command 0 knows no errors: the gateway just closes [10].
        guard command != 0 else { return .finish(answer: nil, delayMilliseconds: 0) }
        return .finish(answer: response, delayMilliseconds: ledger.faults.takeAnswerDelay())
    }
}
