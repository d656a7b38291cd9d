import APNsProtocol
import BelfryProducer
import BelfrySupport
import PushSchemas
import RequestLanes
import RequestRules

/// An order to `belfry publish`.
public struct PublishOrder: Equatable, Sendable {
    public var bundleID: String
    /// Not looked at for a broadcast.
    public var tokens: TokenInput
    /// The id of the channel to broadcast to, instead of tokens; nil: none.
    public var channel: String?
    public var content: OrderedContent
    /// The lane whose Kafka topic the records go to.
    public var lane = RequestLane.normal
    /// Empty: the only one configured at the workers.
    public var environment = ""
    /// Passed on to the outcomes.
    public var requestID: String
    /// UNIX seconds, 0: the push service does not store; nil: its default holds.
    public var expiration: UInt32?
    /// 10, 5 or 1; nil: the push type's default.
    public var priority: UInt32?
    /// Empty: none. At most 255 bytes.
    public var coalescingKey = ""
    /// Name of the push type; empty: inferred from the payload.
    public var pushType = ""
    /// Empty: none. At most 64 bytes.
    public var collapseID = ""
    /// The outcomes to publish; nil: as the workers are set.
    public var report: RequestReport?
    /// The report for a command that waits for the outcomes: with their reasons, unless a file may name millions.
    public var awaitedReport: RequestReport { if case .file = tokens { .summary } else { .all } }
    /// The interface of the environment; nil: not known, so that what either takes is taken.
    public var transport: EnvironmentSettings.Transport?
    /// Over how many keys the bundle is spread.
    public var spread = 1
    public var tokensPerRecord = 500
    public var format = RecordFormat.protobuf
    /// The longest token the gateway takes; shorter than 32 bytes is none.
    public var tokenLimitBytes = 100
    public var payloadRule = PayloadSizeRule.limit(bytes: PayloadLimit.binary2013)
    /// For payment card and social-security numbers in what users see.
    public var sensitiveData = SensitiveDataPolicy.off

    public init(bundleID: String, tokens: TokenInput, content: OrderedContent, requestID: String) {
        self.bundleID = bundleID
        self.tokens = tokens
        self.content = content
        self.requestID = requestID
    }

    /// Checks everything, so that a mistake is told before the first record leaves. Throws `ToolError.invalidInput`
    /// with one line per mistake.
    func checked() throws(ToolError) -> (template: RequestBatcher.Template, tokens: PackedTokens) {
        try checked { lengths throws(ToolError) in
            try tokens.tokens(lengths: lengths)
        } broadcast: {
            $0
        }
    }

    /// - Parameters:
    ///   - readTokens: checks the tokens, of which these lengths in bytes are allowed.
    ///   - broadcast: makes the same of a list that holds nothing but a channel.
    func checked<Tokens>(
        _ readTokens: (_ lengths: ClosedRange<Int>) throws(ToolError) -> Tokens,
        broadcast: (PackedTokens) -> Tokens
    ) throws(ToolError) -> (template: RequestBatcher.Template, tokens: Tokens) {
        var faults = Self.faults(bundleID: bundleID, spread: spread)
        if !(1...10_000).contains(tokensPerRecord) {
            faults.append("tokens per record: found \(tokensPerRecord); allowed: 1...10000")
        }
        faults += contentFaults()
        var tokens: Tokens?
        do throws(ToolError) {
            if let channel {
                // In the place of the only token, as in the record's view.
                var list = PackedTokens()
                list.append(Array(channel.utf8))
                tokens = broadcast(list)
            } else {
                tokens = try readTokens(lengths)
            }
        } catch {
            // No room to keep tokens, for instance, is no mistake in the order.
            guard case .invalidInput = error else { throw error }
            faults.append(error.description)
        }
        guard faults.isEmpty, let tokens else { throw .invalidInput(faults) }
        var template = template
        if case .payload(let bytes) = content {
            do throws(PayloadError) {
                // Its `aps` was judged with the push type.
                let stripped = try PayloadScanner.stripped(bytes, limitBytes: bytes.count, aps: .optional)
                template.content = .payload(stripped)
            } catch {
                throw .invalidInput(["\(RecordRefusal(error))"])
            }
        }
        return (template, tokens)
    }

    private var lengths: ClosedRange<Int> { 32...max(32, tokenLimitBytes) }

    /// The rules for the order's records. An interface that is not known is taken for the later one, which takes more.
    var validator: RequestValidator {
        RequestValidator(
            transport: transport ?? .http2,
            payload: payloadRule,
            tokens: TokenRule(lengths: lengths, spread: UInt32(exactly: spread)),
            sensitiveData: sensitiveData
        )
    }

    /// Fields that all records have in common, with the content as it was given.
    private var template: RequestBatcher.Template {
        var template = RequestBatcher.Template(bundleID: bundleID, requestID: requestID, content: content)
        template.environment = environment
        template.expiration = expiration
        template.priority = priority
        template.coalescingKey = coalescingKey
        template.pushType = pushType
        template.collapseID = collapseID
        template.isBroadcast = channel != nil
        template.report = report
        template.spread = UInt32(clamping: max(1, spread))
        template.tokensPerRecord = max(1, tokensPerRecord)
        template.format = format
        return template
    }

    // MARK: The content of all records

    /// The mistakes that all records would have, in the words of their dead letters.
    private func contentFaults() -> [String] {
        var order = self
        // Judged apart.
        order.bundleID = "a"
        order.spread = 1
        // Text would hide bytes that are none.
        order.format = .protobuf
        var faults: [String] = []
        // The rules tell the first mistake: the next one is told once that is mended.
        while let fault = order.firstContentFault(), faults.last != "\(fault)" {
            faults.append("\(fault)")
            guard order.mend(fault.reason) else { break }
        }
        return faults
    }

    private func firstContentFault() -> RecordRefusal? {
        // In the schema, 0 is that nothing is said; in an order that is no wish.
        if priority == 0 {
            return RecordRefusal(
                reason: RecordFault.priorityInvalid.rawValue,
                detail: transport == .binary
                    ? "'priority' is 0; allowed over the binary interface: 10, 5"
                    : "'priority' is 0; 10, 5 and 1 are allowed"
            )
        }
        do {
            return try sampleRecord()?.faults(by: validator).first?.refusal
        } catch {
            return RecordRefusal(reason: RecordFault.valueUndecodable.rawValue, detail: "\(error)")
        }
    }

    /// A record of the order to one token that no device has, or to its channel.
    private func sampleRecord() throws -> OutgoingRecord? {
        let token = channel.map { Array($0.utf8) } ?? [UInt8](repeating: 0, count: SendRequestView.packedTokenBytes)
        var record: OutgoingRecord?
        var batcher = try RequestBatcher(template)
        try token.withUnsafeBytes { try batcher.add($0) { record = $0 } }
        try batcher.flush { record = $0 }
        return record
    }

    /// The warning that the outcomes will have for sensitive data; nil: they will have none.
    public var warning: String? {
        var order = self
        order.format = .protobuf
        guard let record = try? order.sampleRecord() else { return nil }
        return record.value.withUnsafeBytes { validator.warning(value: $0, as: .protobuf) }
    }

    /// Takes a mistake out of the order; false: there is no way.
    private mutating func mend(_ reason: String) -> Bool {
        switch reason {
        case "priority-invalid": priority = channel == nil ? nil : 10
        case "coalescing-key-too-long": coalescingKey = ""
        case "push-type-invalid": pushType = ""
        case "collapse-id-invalid": collapseID = ""
        case "channel-unsupported": transport = .http2
        case "channel-invalid": channel = "AAAA"
        case "broadcast-incomplete":
            expiration = expiration ?? 0
            priority = priority ?? 10
        case "sensitive-data": sensitiveData = .off
        case "payload-invalid", "payload-missing", "notification-invalid":
            let isWithoutAps = transport != .binary && PushType(rawValue: pushType)?.aps == .forbidden
            content = .payload(Array((isWithoutAps ? "{}" : #"{"aps":{}}"#).utf8))
            payloadRule = .byPushType
        default: return false
        }
        return true
    }

    /// The expiration of a notification that is to be stored for so long.
    ///
    /// - Parameters:
    ///   - ttl: parts of a second count as a whole one: less than asked for would be less than promised.
    ///   - now: UNIX milliseconds.
    /// - Returns: UNIX seconds. Nil: the duration is nothing, or ends behind the last second that a frame can name.
    package static func expiration(after ttl: Duration, now: Int64) -> UInt32? {
        let (seconds, attoseconds) = ttl.components
        guard ttl > .zero, seconds < Int64(UInt32.max) else { return nil }
        let end = now + seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return UInt32(exactly: (end + 999) / 1000)
    }

    static func faults(bundleID: String, spread: Int) -> [String] {
        var faults: [String] = []
        do throws(RecordError) {
            _ = try RecordKey(bundleID: bundleID)
        } catch {
            faults.append("app: \(bundleID.isEmpty ? "it is empty" : error.message)")
        }
        if !(1...65_536).contains(spread) { faults.append("spread: found \(spread); allowed: 1...65536") }
        return faults
    }
}
