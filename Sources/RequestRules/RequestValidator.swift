import APNsProtocol
import PushSchemas

/// Judges whole records of push.requests before they are published, by the rules that the worker has for them.
///
/// Not judged is all that depends on the worker's configuration and on the time: names of environments, certificates,
/// expiration. Pure.
package struct RequestValidator: Sendable, Equatable {
    /// Of the topic's environment.
    package var transport: APNsTransport
    package var payload: PayloadSizeRule
    package var tokens: TokenRule
    /// Of the topic. A warning is no fault: see ``warning(value:as:)``.
    package var sensitiveData: SensitiveDataPolicy

    package init(
        transport: APNsTransport,
        payload: PayloadSizeRule,
        tokens: TokenRule,
        sensitiveData: SensitiveDataPolicy = .off
    ) {
        self.transport = transport
        self.payload = payload
        self.tokens = tokens
        self.sensitiveData = sensitiveData
    }

    /// Judges a record.
    ///
    /// - Parameters:
    ///   - value: valid during the call, as is the key.
    /// - Returns: the mistakes, in the order of their dead letters; empty: there is none. A record that is refused as a
    ///   whole has one. Of a token with values of its own, the payload is judged in the language that the request names
    ///   for it, else in the default one.
    package func faults(
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) -> [RequestFault] {
        do throws(RecordRefusal) {
            return try judge(key: key, value: value, as: contentType)
        } catch {
            return [RequestFault(error)]
        }
    }

    /// The first warning that outcomes of a faultless record will have for sensitive data; nil: they will have none.
    ///
    /// - Parameter value: valid during the call.
    package func warning(value: UnsafeRawBufferPointer, as contentType: RecordContentType) -> String? {
        guard sensitiveData == .warn, let request = try? SendRequestView(decoding: value, as: contentType) else {
            return nil
        }
        let common = try? sensitiveData.judge(request, payload: request.payload)
        guard common == nil, request.hasOverrides else { return common?.description }
        return (0..<request.tokenCount).lazy.compactMap { index in
            sensitiveData.warning(of: request.token(at: index))?.description
        }.first
    }

    private func judge(
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) throws(RecordRefusal) -> [RequestFault] {
        guard value.count <= RequestValue.limitBytes else { throw RequestValue.tooLarge(value.count) }
        let request = try RecordRefusal.of { () throws(RecordError) in
            try SendRequestView(decoding: value, as: contentType)
        }
        let key = try RecordRefusal.of { () throws(RecordError) in try RecordKeyView(parsing: key) }
        let judged = try JudgedRequest.judge(request, over: transport, payload)
        guard let content = try judged.notification(of: request) else {
            let payload = try stripped(request.payload, judged)
            try payload.span.withUnsafeBytes { bytes throws(RecordRefusal) in
                _ = try judged.terms(priority: request.priority, of: bytes)
                _ = try sensitiveData.judge(request, payload: bytes)
            }
            return tokenFaults(of: request, shard: key.shard)
        }
        for language in content.template.languageNumbers {
            _ = try content.payload(language: language, overrides: TokenOverrides(), by: judged)
        }
        _ = try sensitiveData.judge(request, payload: request.payload)
        let faults = tokenFaults(of: request, shard: key.shard)
        return faults + overrideFaults(of: request, content, judged, besides: faults)
    }

    private func stripped(
        _ payload: UnsafeRawBufferPointer,
        _ judged: JudgedRequest
    ) throws(RecordRefusal) -> [UInt8] {
        do throws(PayloadError) {
            return try PayloadScanner.stripped(Array(payload), limitBytes: judged.limitBytes, aps: judged.aps)
        } catch {
            throw RecordRefusal(error)
        }
    }

    private func tokenFaults(of request: SendRequestView, shard: UInt32?) -> [RequestFault] {
        var found = FaultsByReason()
        for index in 0..<request.tokenCount {
            let token = request.token(at: index)
            let checksum = { CRC32.checksum(token.bytes) }
            let fault =
                request.isBroadcast
                ? tokens.shardFault(of: "channel", checksum: checksum(), shard: shard)
                : tokens.fault(of: token, checksum: checksum(), shard: shard)
            if let fault {
                found.add(fault.reason, fault.refusal, [index])
            } else if !request.isBroadcast, let fault = sensitiveData.fault(of: token) {
                found.add(fault, [index])
            }
        }
        return found.faults
    }

    /// Judges the payloads of tokens with values of their own.
    ///
    /// - Parameter faults: tokens that have one get no payload.
    private func overrideFaults(
        of request: SendRequestView,
        _ content: StructuredContent,
        _ judged: JudgedRequest,
        besides faults: [RequestFault]
    ) -> [RequestFault] {
        guard request.hasOverrides else { return [] }
        let faulty = Set(faults.flatMap(\.tokens))
        var verdicts: [TokenOverrides: RecordRefusal?] = [:]
        var found = FaultsByReason()
        for index in 0..<request.tokenCount where !faulty.contains(index) {
            guard let overrides = request.token(at: index).overrides else { continue }
            let verdict = verdicts[overrides] ?? fault(of: overrides, content, judged)
            verdicts[overrides] = .some(verdict)
            if let verdict { found.add(verdict, [index]) }
        }
        return found.faults
    }

    private func fault(
        of overrides: TokenOverrides,
        _ content: StructuredContent,
        _ judged: JudgedRequest
    ) -> RecordRefusal? {
        var own = overrides
        own.locale = ""
        do throws(RecordRefusal) {
            _ = try content.payload(
                language: content.template.languages.number(of: overrides.locale),
                overrides: own,
                by: judged
            )
            return nil
        } catch {
            return error
        }
    }
}
