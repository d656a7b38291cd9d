import APNsProtocol

/// The gateway's view of a notification, decided when it was published.
enum Fate {
    case good
    /// Refused with this status whenever it is seen.
    case refused(APNsStatus)
    /// Refused with this status so many times more, then taken.
    case refusedAtFirst(APNsStatus, times: Int)
    /// Makes the gateway answer with an identifier that names nothing.
    case anonymous(APNsStatus)
    /// Makes the gateway close without an answer.
    case poison

    /// The lane may report it as refused.
    var mayBeRefused: Bool {
        if case .good = self { false } else { true }
    }
}

/// A gateway by brute force: it knows every notification's fate and remembers in which order it accepted what.
struct GatewayModel {
    var fates: [Fate] = []
    /// Ordinals in the order of acceptance, over all connections.
    var accepted: [UInt32] = []
    var acceptedCount: [Int] = []
    /// Identifier in the answers to sentinels; nil: there are none.
    var sentinelIdentifier: SentinelIdentifier? = .own

    enum SentinelIdentifier: CaseIterable {
        case own
        case zero
    }

    mutating func publish(_ fate: Fate) {
        fates.append(fate)
        acceptedCount.append(0)
    }

    /// The gateway closes on a frame without an answer.
    func isPoison(_ frame: TestFrame) -> Bool {
        guard frame.ordinal != TestFrame.sentinel, case .poison = fates[Int(frame.ordinal)] else { return false }
        return true
    }

    /// Judges one frame that is no poison; an error response ends the connection's reading.
    mutating func take(_ frame: TestFrame) -> ErrorResponse? {
        if frame.ordinal == TestFrame.sentinel {
            guard let sentinelIdentifier else { return nil }
            return ErrorResponse(
                status: .missingDeviceToken,
                identifier: sentinelIdentifier == .own ? frame.identifier : 0
            )
        }
        let ordinal = Int(frame.ordinal)
        switch fates[ordinal] {
        case .refused(let status):
            return ErrorResponse(status: status, identifier: frame.identifier)
        case .refusedAtFirst(let status, let times) where times > 0:
            fates[ordinal] = .refusedAtFirst(status, times: times - 1)
            return ErrorResponse(status: status, identifier: frame.identifier)
        case .anonymous(let status):
            return ErrorResponse(status: status, identifier: 0)
        case .poison:
            preconditionFailure("the connection ends on it")
        case .good, .refusedAtFirst:
            accepted.append(frame.ordinal)
            acceptedCount[ordinal] += 1
            return nil
        }
    }
}

/// One connection as the network and the gateway see it: bytes waiting here, bytes under way, what was read of them.
struct ConnectionModel {
    /// Handed over, not yet taken by the operating system.
    var pending: [UInt8] = []
    /// Ends of flushes: position in the stream, and the cursor to report.
    var flushes: [(position: Int, end: UInt64)] = []
    /// Bytes of the stream the operating system took so far.
    var taken = 0
    /// Taken here, not yet with the peer's kernel: only where acknowledgements are told.
    var inTransit: [UInt8] = []
    /// The peer's kernel takes nothing before this time: its buffers are full.
    var stalledUntil: UInt64 = 0
    /// Bytes of the stream the peer's kernel has.
    var arrived = 0
    /// With the peer's kernel, not yet read, oldest first.
    var underWay: [(bytes: [UInt8], takenAt: UInt64)] = []
    /// Read, not yet a whole frame.
    var tail: [UInt8] = []
    /// The answer on its way back; nothing is read any more.
    var answer: (response: ErrorResponse, due: UInt64)?
    /// The gateway has closed without an answer.
    var isCut = false
    /// The gateway refuses the certificate: it never reads.
    var refusesCertificate = false
    /// Identifier of the last notification accepted here; 0 when there is none.
    var lastAccepted: UInt32 = 0

    /// The peer's kernel has, or will take, all that is in transit.
    var hears: Bool { inTransit.isEmpty && pending.isEmpty || stalledUntil < .max }

    /// Reads up to `limit` bytes of what is under way.
    mutating func read(_ limit: Int, by gateway: inout GatewayModel, answerDue: UInt64) {
        guard !refusesCertificate else { return }
        var left = limit
        while left > 0, !underWay.isEmpty, answer == nil, !isCut {
            let part = min(left, underWay[0].bytes.count)
            tail += underWay[0].bytes.prefix(part)
            underWay[0].bytes.removeFirst(part)
            if underWay[0].bytes.isEmpty { underWay.removeFirst() }
            left -= part
            for frame in TestFrame.take(from: &tail) {
                if gateway.isPoison(frame) {
                    isCut = true
                    return
                }
                if let response = gateway.take(frame) {
                    answer = (response, answerDue)
                    // Everything after it is discarded.
                    return
                }
                if frame.ordinal != TestFrame.sentinel { lastAccepted = frame.identifier }
            }
        }
    }
}
