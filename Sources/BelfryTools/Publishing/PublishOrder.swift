import APNsProtocol
import BelfrySupport
import PushSchemas

/// An order to `belfry publish`.
public struct PublishOrder: Equatable, Sendable {
    public var bundleID: String
    /// Not looked at for a broadcast.
    public var tokens: TokenInput
    /// The id of the channel to broadcast to, instead of tokens; nil: none.
    public var channel: String?
    /// The notification's JSON as it was given.
    public var payload: [UInt8]
    /// Empty: the only one configured at the workers.
    public var environment = ""
    /// Passed on to the outcomes.
    public var requestID: String
    /// UNIX seconds; nil: the push service does not store.
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
    /// The interface of the environment; nil: not known, so that what either takes is taken.
    public var transport: EnvironmentSettings.Transport?
    /// Over how many keys the bundle is spread.
    public var spread = 1
    public var tokensPerRecord = 500
    public var format = RecordFormat.protobuf
    /// The longest token the gateway takes; shorter than 32 bytes is none.
    public var tokenLimitBytes = 100
    public var payloadRule = PayloadSizeRule.limit(bytes: PayloadLimit.binary2013)

    public init(bundleID: String, tokens: TokenInput, payload: [UInt8], requestID: String) {
        self.bundleID = bundleID
        self.tokens = tokens
        self.payload = payload
        self.requestID = requestID
    }

    /// Checks everything, so that a mistake is told before the first record leaves. Throws `ToolError.invalidInput`
    /// with one line per mistake.
    func checked() throws(ToolError) -> (template: RequestBatcher.Template, tokens: TokenList) {
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
        broadcast: (TokenList) -> Tokens
    ) throws(ToolError) -> (template: RequestBatcher.Template, tokens: Tokens) {
        var faults = Self.faults(bundleID: bundleID, spread: spread)
        let pushType = PushType(rawValue: pushType)
        if pushType == nil, !self.pushType.isEmpty {
            let allowed = PushType.allCases.map(\.rawValue).joined(separator: ", ")
            faults.append("push type: found \"\(self.pushType)\"; allowed: \(allowed)")
        }
        if !(1...10_000).contains(tokensPerRecord) {
            faults.append("tokens per record: found \(tokensPerRecord); allowed: 1...10000")
        }
        let priorities = allowedPriorities(of: pushType)
        if let priority, !priorities.contains(priority) {
            let allowed = priorities.map { "\($0)" }.joined(separator: ", ")
            faults.append("priority: found \(priority); allowed: \(allowed)")
        }
        if !collapseID.isEmpty, !Array(collapseID.utf8).withUnsafeBytes(CollapseID.isValid) {
            faults.append(
                "collapse id: found \(collapseID.utf8.count) bytes; allowed: 1...\(CollapseID.limitBytes) without "
                    + "control characters, and without spaces at the ends"
            )
        }
        if coalescingKey.utf8.count > SendRequestView.coalescingKeyBytes {
            faults.append(
                "coalescing key: found \(coalescingKey.utf8.count) bytes; allowed: at most "
                    + "\(SendRequestView.coalescingKeyBytes)"
            )
        }
        if let channel { faults += broadcastFaults(channel, pushType) }
        var stripped: [UInt8] = []
        do throws(PayloadError) {
            stripped = try PayloadScanner.stripped(payload, limitBytes: payloadLimitBytes(of: pushType))
        } catch {
            faults.append(error.description)
        }
        var tokens: Tokens?
        do throws(ToolError) {
            if let channel {
                // In the place of the only token, as in the record's view.
                var list = TokenList()
                list.append(Array(channel.utf8))
                tokens = broadcast(list)
            } else {
                tokens = try readTokens(32...max(32, tokenLimitBytes))
            }
        } catch {
            // No room to keep tokens, for instance, is no mistake in the order.
            guard case .invalidInput = error else { throw error }
            faults.append(error.description)
        }
        guard faults.isEmpty, let tokens else { throw .invalidInput(faults) }
        var template = RequestBatcher.Template(bundleID: bundleID, requestID: requestID, payload: stripped)
        template.environment = environment
        template.expiration = expiration
        template.priority = priority
        template.coalescingKey = coalescingKey
        template.pushType = self.pushType
        template.collapseID = collapseID
        template.isBroadcast = channel != nil
        template.report = report
        template.spread = UInt32(spread)
        template.tokensPerRecord = tokensPerRecord
        template.format = format
        return (template, tokens)
    }

    private func payloadLimitBytes(of pushType: PushType?) -> Int {
        channel == nil ? payloadRule.limitBytes(of: pushType) : PayloadLimit.broadcast
    }

    /// The mistakes in an order to broadcast, as the worker would find them.
    private func broadcastFaults(_ channel: String, _ pushType: PushType?) -> [String] {
        var faults: [String] = []
        if !ChannelID.isValid(channel) {
            faults.append("channel: found \"\(channel)\"; allowed: base64, 4 to \(ChannelID.limitBytes) characters")
        }
        if transport == .binary { faults.append("channel: the environment has the binary interface; needed: http2") }
        if expiration == nil { faults.append("expiration: found nothing; a broadcast needs one, be it 0") }
        if priority == nil { faults.append("priority: found nothing; a broadcast needs one") }
        if let pushType, pushType != .liveactivity {
            faults.append("push type: found \"\(pushType.rawValue)\"; allowed with a channel: liveactivity")
        }
        if !collapseID.isEmpty { faults.append("collapse id: found one; a broadcast has none") }
        return faults
    }

    private func allowedPriorities(of pushType: PushType?) -> [UInt32] {
        switch transport {
        case .binary:
            NotificationPriority.allCases.map { UInt32($0.rawValue) }
        case .http2, nil:
            ProviderPriority.allCases.filter { pushType?.allows($0) ?? true }.map { UInt32($0.rawValue) }
        }
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
            faults.append("topic: \(bundleID.isEmpty ? "it is empty" : error.message)")
        }
        if !(1...65_536).contains(spread) { faults.append("spread: found \(spread); allowed: 1...65536") }
        return faults
    }
}
