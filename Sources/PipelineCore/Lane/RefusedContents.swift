import APNsProtocol

/// Contents that a gateway refuses for every token. A few proofs condemn a content; nothing of it is sent any more.
///
/// A refusal of content costs a connection, or two where the reason is unknown. Hundreds of tokens with the same
/// content would cost as many, out of a budget that all topics share. So each refusal that names its notification is a
/// proof against two suspects: the content, in all records, and the record, whose tokens may each have a payload of
/// their own. A suspect is condemned by proofs of one status while nothing of it was accepted; an acceptance clears it.
/// [ours]
///
/// A gateway that is wrong and refuses everything must not end a backlog: without any acceptance of the topic the
/// condemned end no more than ``allowance`` notifications. The others go on to be refused one by one.
///
/// Of one topic in one shard; pure.
public struct RefusedContents: Sendable {
    /// The part of a notification that does not depend on its token.
    public struct Content: Hashable, Sendable {
        /// Of payload and priority. The expiration is left out: it often follows from the time of publication.
        let digest: UInt64
        /// Length of the frame without its token.
        let bytes: Int

        /// - Parameter frame: of command 2, by ``NotificationFrame``.
        public init(of frame: UnsafeRawBufferPointer) {
            let (payload, priority) = NotificationFrame.command2Content(in: frame)
            digest = SipHash.word(of: payload, key: SipHash(low: UInt64(priority), high: 0))
            bytes = payload.count
        }
    }

    private enum Suspect: Hashable {
        case content(Content)
        case record(assignment: UInt32, record: UInt32)
    }

    private struct Proofs {
        let since: MonotonicTime
        var status: APNsStatus?
        /// Tokens that the content was refused to, by checksum; of a record its refused contents, by digest.
        var refused: Set<UInt64> = []
        var isCleared = false
        var isCondemned = false
    }

    /// Tokens that prove a content refused.
    public static let tokenProofs = 3
    /// Different contents that prove a record refused: more than a request has languages, mostly.
    public static let contentProofs = 8
    /// Most notifications that the condemned end while the gateway accepts nothing of the topic.
    public static let allowance = 10_000
    /// The time after which a suspect is forgotten: the gateway may have another rule by then.
    public static let memory = Duration.seconds(600)
    /// Most suspects; with more all are forgotten.
    public static let most = 256

    private var suspects: [Suspect: Proofs] = [:]
    /// Lengths of suspected contents: most others differ.
    private var lengths: Set<Int> = []
    private var condemned = 0
    private var left = Self.allowance

    public init() {}

    public var isEmpty: Bool { suspects.isEmpty }
    /// Some content is condemned, and may end notifications.
    public var isCondemning: Bool { condemned > 0 && left > 0 }

    /// The gateway named a notification whose content may be the reason.
    ///
    /// - Returns: its content or its record is a new suspect: the caller tells of what was accepted before.
    public mutating func suspect(_ content: Content, of reference: NotificationReference, now: MonotonicTime) -> Bool {
        if suspects.count + 2 > Self.most { forgetAll() }
        lengths.insert(content.bytes)
        var isNew = false
        for suspect in Self.suspects(content, reference) where suspects[suspect] == nil {
            suspects[suspect] = Proofs(since: now)
            isNew = true
        }
        return isNew
    }

    /// The notification may be of a suspect. Cheap: after a no the caller need not hash the content.
    ///
    /// - Parameter bytes: of its payload.
    public func mayConcern(_ reference: NotificationReference, bytes: Int) -> Bool {
        lengths.contains(bytes)
            || suspects[.record(assignment: reference.assignment, record: reference.record)] != nil
    }

    /// The gateway accepted a notification, proven or presumed.
    public mutating func accepted(_ content: Content, of reference: NotificationReference) {
        for suspect in Self.suspects(content, reference) {
            guard var proofs = suspects[suspect], !proofs.isCleared else { continue }
            if proofs.isCondemned { condemned -= 1 }
            proofs.isCleared = true
            proofs.isCondemned = false
            suspects[suspect] = proofs
        }
    }

    /// The gateway accepted something of the topic.
    ///
    /// - Returns: the condemned may end notifications that they had to spare.
    public mutating func gatewayAccepts() -> Bool {
        defer { left = Self.allowance }
        return left == 0 && condemned > 0
    }

    /// The gateway refused a suspected notification for good.
    ///
    /// - Parameter checksum: of its token.
    /// - Returns: that condemns its content or its record.
    public mutating func refused(
        _ content: Content,
        of reference: NotificationReference,
        checksum: UInt32,
        status: APNsStatus
    ) -> Bool {
        let ofContent = prove(.content(content), by: UInt64(checksum), Self.tokenProofs, status)
        let record = Suspect.record(assignment: reference.assignment, record: reference.record)
        return prove(record, by: content.digest, Self.contentProofs, status) || ofContent
    }

    /// Ends a notification that waits, if it is condemned.
    ///
    /// - Returns: the status of the refusals that condemned it; nil: it is to be sent.
    public mutating func end(_ content: Content, of reference: NotificationReference) -> APNsStatus? {
        guard left > 0 else { return nil }
        for suspect in Self.suspects(content, reference) {
            guard let proofs = suspects[suspect], proofs.isCondemned else { continue }
            left -= 1
            return proofs.status
        }
        return nil
    }

    /// Forgets suspects of long ago.
    public mutating func expire(now: MonotonicTime) {
        guard !isEmpty, suspects.values.contains(where: { $0.since + Self.memory <= now }) else { return }
        suspects = suspects.filter { now < $0.value.since + Self.memory }
        condemned = suspects.values.count(where: \.isCondemned)
        if isEmpty { forgetAll() }
    }

    private mutating func prove(_ suspect: Suspect, by proof: UInt64, _ needed: Int, _ status: APNsStatus) -> Bool {
        guard var proofs = suspects[suspect], !proofs.isCleared, !proofs.isCondemned else { return false }
        if proofs.status != status { proofs.refused = [] }
        proofs.status = status
        proofs.refused.insert(proof)
        proofs.isCondemned = proofs.refused.count >= needed
        if proofs.isCondemned { condemned += 1 }
        suspects[suspect] = proofs
        return proofs.isCondemned
    }

    private mutating func forgetAll() {
        suspects = [:]
        lengths = []
        condemned = 0
    }

    private static func suspects(_ content: Content, _ reference: NotificationReference) -> [Suspect] {
        [.content(content), .record(assignment: reference.assignment, record: reference.record)]
    }
}
