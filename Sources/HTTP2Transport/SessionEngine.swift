import CNghttp2
import NIOCore

/// One nghttp2 session of either side: bytes in, events and bytes out.
///
/// Everything that is submitted is encoded at once, into the output that waits to be taken. So header fields need to
/// live for a call only, nghttp2 copies none of them, and its queues stay empty but for bodies that wait for a window.
///
/// Belongs to one thread at a time. nghttp2's callbacks only change ``SessionState``; see there.
final class SessionEngine {
    private let session: OpaquePointer
    let state: UnsafeMutablePointer<SessionState>
    /// The status of an answer in three digits, while it is encoded.
    private let digits = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 3)
    /// The GOAWAY that is encoded is ours, not nghttp2's answer to a violation.
    private var isGoingAway = false
    /// Our GOAWAY was sent.
    private var hasGoneAway = false
    /// Length of the authorization in the request that is encoded, if its name is disguised.
    private var authorizationBytes: Int?

    /// - Parameters:
    ///   - settings: announced at once, together with those that follow from `limits`.
    ///   - connectionWindowBytes: bytes of bodies that the peer may send on all streams together before it gets more
    ///     window.
    ///   - streamsBeforeSettings: of a client: streams that may be open before the server's SETTINGS arrive.
    init(
        isServer: Bool,
        settings: HTTP2Settings,
        connectionWindowBytes: Int,
        limits: PeerLimits,
        streamsBeforeSettings: Int
    ) {
        let state = UnsafeMutablePointer<SessionState>.allocate(capacity: 1)
        state.initialize(to: SessionState(isServer: isServer, limits: limits))
        self.state = state
        session = Self.make(isServer: isServer, limits, streamsBeforeSettings, state)
        digits.initialize(repeating: 0)

        var entries = settings.entries
        entries.append(HTTP2Settings.entry(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, limits.decoderTableBytes))
        entries.append(HTTP2Settings.entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headerListBytes))
        // Nothing is pushed, and a server has no use for priorities, which cost a tree of streams.
        entries.append(
            isServer
                ? HTTP2Settings.entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1)
                : HTTP2Settings.entry(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)
        )
        submit(entries)
        nghttp2_session_set_local_window_size(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(clamping: connectionWindowBytes)
        )
        encode()
    }

    deinit {
        nghttp2_session_del(session)
        state.pointee.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
        digits.deallocate()
    }

    private static func make(
        isServer: Bool,
        _ limits: PeerLimits,
        _ streamsBeforeSettings: Int,
        _ state: UnsafeMutablePointer<SessionState>
    ) -> OpaquePointer {
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0 else { preconditionFailure("out of memory") }
        defer { nghttp2_option_del(option) }
        nghttp2_option_set_no_auto_window_update(option, 1)
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_max_reserved_remote_streams(option, 0)
        nghttp2_option_set_max_deflate_dynamic_table_size(option, limits.encoderTableBytes)
        nghttp2_option_set_peer_max_concurrent_streams(option, UInt32(clamping: streamsBeforeSettings))
        // Limits on frames are ours: they have a clock that tests can set, and tell the peer the reason. nghttp2 would
        // end without a word.
        nghttp2_option_set_max_continuations(option, limits.continuationsPerBlock + 1)
        nghttp2_option_set_max_outbound_ack(option, 1 << 20)
        nghttp2_option_set_stream_reset_rate_limit(option, 1 << 32, 1 << 32)

        var session: OpaquePointer?
        let result =
            isServer
            ? nghttp2_session_server_new2(&session, SessionCallbacks.pointer, state, option)
            : nghttp2_session_client_new2(&session, SessionCallbacks.pointer, state, option)
        guard result == 0, let session else { preconditionFailure("out of memory") }
        return session
    }
}

// MARK: Bytes

extension SessionEngine {
    /// Takes the next bytes of the connection, in any chunks; notes events and encodes what they demand.
    func receive(_ bytes: UnsafeRawBufferPointer, now: NIODeadline) {
        guard state.pointee.failure == nil, !bytes.isEmpty else { return }
        state.pointee.begin(now: now)
        if let failure = state.pointee.conduct.received(bytes, now: now) {
            fail(failure)
            return
        }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = nghttp2_session_mem_recv(session, start, bytes.count)
        if let excess = state.pointee.excess {
            fail(.peerLimit(excess))
        } else if result < 0 {
            fail(Self.failure(Int32(truncatingIfNeeded: result), state.pointee.limits))
        } else {
            encode()
            judgeBacklog()
        }
    }

    /// Moves the output behind the readable bytes of `buffer`; swaps the buffers if that has none, so that their memory
    /// is used in turns.
    func takeOutput(into buffer: inout ByteBuffer) {
        if buffer.readableBytes == 0 {
            swap(&buffer, &state.pointee.output)
        } else {
            buffer.writeImmutableBuffer(state.pointee.output)
        }
        state.pointee.output.clear()
    }

    /// Lets nghttp2 write all frames that may go now.
    private func encode() {
        while true {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0, let start else {
                if count < 0 { end(.broken(reason: Self.words(Int32(truncatingIfNeeded: count)))) }
                return
            }
            // nghttp2 hands out whole frames, but for the preface.
            let frame = UnsafeRawBufferPointer(start: start, count: count)
            state.pointee.output.writeBytes(frame)
            if let valueBytes = authorizationBytes { restoreAuthorization(frame, valueBytes: valueBytes) }
            switch UInt32(frame[3]) {
            case NGHTTP2_GOAWAY.rawValue: noteGoAway(HTTP2Dismissals.GoAway(frame))
            case NGHTTP2_RST_STREAM.rawValue: state.pointee.dismissals.noteReset(frame)
            default: break
            }
        }
    }

    /// Gives the field of a frame its right name, see ``AuthorizationName``; the frame stands at the end of the output.
    private func restoreAuthorization(_ frame: UnsafeRawBufferPointer, valueBytes: Int) {
        guard
            frame[3] == UInt8(NGHTTP2_HEADERS.rawValue),
            let position = AuthorizationName.position(in: frame, valueBytes: valueBytes)
        else { return }
        let start = state.pointee.output.writerIndex - frame.count
        state.pointee.output.setInteger(AuthorizationName.lastByte, at: start + position)
    }

    /// nghttp2 sends a GOAWAY by itself when the peer has broken the protocol; its debug data is the reason.
    private func noteGoAway(_ goAway: HTTP2Dismissals.GoAway) {
        state.pointee.dismissals.note(goAway)
        guard !isGoingAway else { return }
        end(.protocolViolation(code: goAway.code, reason: String(decoding: goAway.debugData, as: UTF8.self)))
    }

    /// Answers that a peer does not read must not fill the memory.
    private func judgeBacklog() {
        let limit = state.pointee.limits.unreadBytes
        guard state.pointee.failure == nil, outputBytes > limit else { return }
        fail(.peerLimit(.unread(limitBytes: limit)))
    }
}

// MARK: Ends

extension SessionEngine {
    /// Tells the peer why, and ends.
    private func fail(_ failure: HTTP2Failure) {
        end(failure)
        switch failure {
        case .peerLimit(let excess):
            sendGoAway(.enhanceYourCalm, Array("\(excess)".utf8), last: nil)
        case .broken:
            sendGoAway(.internalError, [], last: nil)
        case .protocolViolation, .notHTTP2:
            break
        }
    }

    private func end(_ failure: HTTP2Failure) {
        guard state.pointee.failure == nil else { return }
        state.pointee.noteEvent(.failed)
        state.pointee.failure = failure
    }

    private static func failure(_ error: Int32, _ limits: PeerLimits) -> HTTP2Failure {
        switch error {
        case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue:
            .peerLimit(.continuations(perBlock: limits.continuationsPerBlock))
        case NGHTTP2_ERR_FLOODED.rawValue:
            .peerLimit(.frames(.settings, perSecond: limits.settingsPerSecond))
        default:
            .broken(reason: Self.words(error))
        }
    }

    private static func words(_ error: Int32) -> String {
        nghttp2_strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }

    /// Neither side has anything to say any more.
    var isFinished: Bool {
        state.pointee.failure != nil
            || (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0)
    }

    /// - Parameter last: the last stream that is processed; `nil`: the last one that came.
    func goAway(_ code: HTTP2ErrorCode, _ debugData: [UInt8], last: HTTP2StreamID?) {
        guard state.pointee.failure == nil else { return }
        hasGoneAway = true
        sendGoAway(code, debugData, last: last)
    }

    private func sendGoAway(_ code: HTTP2ErrorCode, _ debugData: [UInt8], last: HTTP2StreamID?) {
        let last = last?.rawValue ?? nghttp2_session_get_last_proc_stream_id(session)
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        let result = nghttp2_submit_goaway(session, flags, last, code.rawValue, debugData, debugData.count)
        precondition(result != NGHTTP2_ERR_INVALID_ARGUMENT.rawValue, "the last stream is one of the peer's, or 0")
        isGoingAway = true
        encode()
        isGoingAway = false
    }
}

// MARK: Frames of the connection

extension SessionEngine {
    func send(_ settings: HTTP2Settings) {
        guard state.pointee.failure == nil else { return }
        submit(settings.entries)
        encode()
    }

    private func submit(_ entries: [nghttp2_settings_entry]) {
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        let result = nghttp2_submit_settings(session, flags, entries, entries.count)
        precondition(result == 0, "settings are refused: \(Self.words(result))")
    }

    /// - Parameter number: comes back with the answer.
    func ping(_ number: UInt64) {
        guard state.pointee.failure == nil else { return }
        withUnsafeBytes(of: number.bigEndian) { bytes in
            let data = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), data)
        }
        encode()
    }

    func setConnectionWindow(bytes: Int) {
        guard state.pointee.failure == nil else { return }
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        nghttp2_session_set_local_window_size(session, flags, 0, Int32(clamping: bytes))
        encode()
    }

    /// False: windows of received bodies are kept back, until it is true again.
    var returnsWindow: Bool {
        get { state.pointee.returnsWindow }
        set {
            state.pointee.returnsWindow = newValue
            guard newValue, state.pointee.failure == nil, state.pointee.withheldBytes > 0 else { return }
            nghttp2_session_consume_connection(session, state.pointee.withheldBytes)
            state.pointee.withheldBytes = 0
            state.pointee.streams.forEachOpen { stream in
                guard stream.pointee.withheldBytes > 0 else { return }
                nghttp2_session_consume_stream(session, stream.pointee.id, stream.pointee.withheldBytes)
                stream.pointee.withheldBytes = 0
            }
            encode()
        }
    }

    /// Bytes that wait to be taken, and bytes of bodies that wait for the peer's windows.
    var outputBytes: Int {
        state.pointee.output.readableBytes + state.pointee.stalledBytes
    }

    /// The peer's window for bodies of all streams together.
    var remoteWindowBytes: Int {
        Int(nghttp2_session_get_remote_window_size(session))
    }

    var peerMaxConcurrentStreams: Int {
        Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    var acceptsStreams: Bool {
        !hasGoneAway && state.pointee.failure == nil
            && nghttp2_session_check_request_allowed(session) != 0
    }

    /// Present size of the table with which fields are encoded.
    var encoderTableBytes: Int {
        nghttp2_session_get_hd_deflate_dynamic_table_size(session)
    }
}

// MARK: Streams

extension SessionEngine {
    func open(_ fields: borrowing HTTP2Fields, body: ByteBuffer, tag: UInt64) throws(HTTP2OpenRefusal) -> Int32 {
        guard acceptsStreams else { throw .sessionIsEnding }
        guard state.pointee.streams.count < peerMaxConcurrentStreams else { throw .noStreamLeft }
        let slot = state.pointee.streams.takeSlot()
        state.pointee.streams[slot].pointee.tag = tag
        authorizationBytes = fields.indexedAuthorizationBytes
        defer { authorizationBytes = nil }
        let id = fields.withPairs { pairs, count in
            withProvider(of: body, on: slot) { provider -> Int32 in
                let id = nghttp2_submit_request(session, nil, pairs, count, provider, SessionCallbacks.mark(slot))
                guard id > 0 else { return id }
                state.pointee.streams[slot].pointee.id = id
                // While the fields are lent.
                encode()
                return id
            }
        }
        guard id > 0 else {
            state.pointee.discard(slot)
            throw .sessionIsEnding
        }
        return id
    }

    /// Returns false if the stream is gone.
    func respond(_ id: Int32, status: Int, fields: borrowing HTTP2Fields, body: ByteBuffer) -> Bool {
        precondition((200...599).contains(status), "a final status is from 200 to 599")
        guard state.pointee.failure == nil, let slot = SessionCallbacks.slot(of: id, session) else {
            return false
        }
        let stream = state.pointee.streams[slot]
        precondition(!stream.pointee.isAnswered, "a request is answered once")
        stream.pointee.isAnswered = true
        digits[0] = UInt8(48 + status / 100)
        digits[1] = UInt8(48 + status / 10 % 10)
        digits[2] = UInt8(48 + status % 10)
        return fields.withPairs(status: UnsafeBufferPointer(digits)) { pairs, count in
            withProvider(of: body, on: slot) { provider -> Bool in
                guard nghttp2_submit_response(session, id, pairs, count, provider) == 0 else { return false }
                encode()
                return true
            }
        }
    }

    /// Lends the source of a body to nghttp2, which copies it; none for an empty body.
    private func withProvider<Result>(
        of body: ByteBuffer,
        on slot: Int32,
        _ submit: (UnsafePointer<nghttp2_data_provider>?) -> Result
    ) -> Result {
        guard body.readableBytes > 0 else { return submit(nil) }
        state.pointee.send(body, on: slot)
        return withUnsafePointer(to: SessionCallbacks.body(of: slot)) { submit($0) }
    }

    /// The part of a body that is not sent yet; nil: the stream is gone.
    func stalledBody(of id: Int32) -> ByteBuffer? {
        SessionCallbacks.slot(of: id, session).map { state.pointee.streams[$0].pointee.outgoing }
    }

    /// Does nothing if the stream is gone.
    func reset(_ id: Int32, _ code: HTTP2ErrorCode) {
        guard state.pointee.failure == nil, SessionCallbacks.slot(of: id, session) != nil else { return }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
        encode()
    }
}
