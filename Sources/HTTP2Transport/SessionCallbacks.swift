import CNghttp2
import NIOCore

/// nghttp2's callbacks. They come inside of `nghttp2_session_mem_recv` and `nghttp2_session_mem_send`, on the caller's
/// thread, and only note what happened in the session's ``SessionState``: nothing of the session's user runs in them.
enum SessionCallbacks {
    private struct Table: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Made once, never freed or changed: each session copies it.
    static var pointer: OpaquePointer { Self.table.pointer }

    private static let table: Table = {
        var made: OpaquePointer?
        guard nghttp2_session_callbacks_new(&made) == 0, let table = made else { preconditionFailure("out of memory") }
        Self.setStreamCallbacks(table)
        Self.setFieldCallbacks(table)
        Self.setFrameCallbacks(table)
        nghttp2_session_callbacks_set_send_data_callback(table) { _, _, header, count, source, userData in
            guard let header, let source else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
            SessionCallbacks.state(userData).pointee.writeData(
                source.pointee.fd,
                header: UnsafeRawBufferPointer(start: header, count: FrameScanner.headerBytes),
                count: count
            )
            return 0
        }
        return Table(pointer: table)
    }()

    private static func setStreamCallbacks(_ table: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(table) { session, frame, userData in
            guard let frame else { return 0 }
            let id = frame.pointee.hd.stream_id
            let state = SessionCallbacks.state(userData)
            if let slot = SessionCallbacks.slot(of: id, session) {
                state.pointee.beginFields(slot)
            } else if state.pointee.isServer {
                let slot = state.pointee.opened(id)
                nghttp2_session_set_stream_user_data(session, id, SessionCallbacks.mark(slot))
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(table) { session, id, code, userData in
            if let slot = SessionCallbacks.slot(of: id, session) {
                SessionCallbacks.state(userData).pointee.closed(slot, code: code)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) { session, _, id, data, count, userData in
            var returned = count
            if let slot = SessionCallbacks.slot(of: id, session) {
                let bytes = UnsafeRawBufferPointer(start: data, count: count)
                returned = SessionCallbacks.state(userData).pointee.receivedBody(slot, bytes)
            }
            return returned > 0 ? nghttp2_session_consume(session, id, returned) : 0
        }
    }

    private static func setFieldCallbacks(_ table: OpaquePointer) {
        nghttp2_session_callbacks_set_on_header_callback(table) {
            _,
            _,
            name,
            nameCount,
            value,
            valueCount,
            _,
            userData in
            let isFine = SessionCallbacks.state(userData).pointee.received(
                name: UnsafeRawBufferPointer(start: name, count: nameCount),
                value: UnsafeRawBufferPointer(start: value, count: valueCount)
            )
            return isFine ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }

    private static func setFrameCallbacks(_ table: OpaquePointer) {
        nghttp2_session_callbacks_set_on_frame_recv_callback(table) { session, frame, userData in
            guard let frame else { return 0 }
            let header = frame.pointee.hd
            let state = SessionCallbacks.state(userData)
            switch UInt32(header.type) {
            case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
                guard
                    SessionCallbacks.has(NGHTTP2_FLAG_END_STREAM, header),
                    let slot = SessionCallbacks.slot(of: header.stream_id, session)
                else { break }
                state.pointee.completed(slot)
            case NGHTTP2_SETTINGS.rawValue:
                if !SessionCallbacks.has(NGHTTP2_FLAG_ACK, header) { state.pointee.noteEvent(.settings) }
            case NGHTTP2_PING.rawValue:
                guard SessionCallbacks.has(NGHTTP2_FLAG_ACK, header) else { break }
                let number = withUnsafeBytes(of: frame.pointee.ping.opaque_data) {
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
                }
                state.pointee.noteEvent(.pong(number))
            case NGHTTP2_GOAWAY.rawValue:
                let goAway = frame.pointee.goaway
                state.pointee.noteGoAway(
                    last: goAway.last_stream_id,
                    code: goAway.error_code,
                    debugData: UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
                )
            default:
                break
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table) { _, _, error, userData in
            let state = SessionCallbacks.state(userData)
            // A stream above our limit, which the peer may not know yet, is no misdeed.
            guard error != NGHTTP2_ERR_REFUSED_STREAM.rawValue else { return 0 }
            let now = state.pointee.now
            state.pointee.excess = state.pointee.conduct.provokedReset(now: now)
            return state.pointee.excess == nil ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }

    /// The source of a stream's body: nghttp2 asks how much comes next, and the callback for sending writes it, without
    /// a copy between.
    static func body(of slot: Int32) -> nghttp2_data_provider {
        nghttp2_data_provider(
            source: nghttp2_data_source(fd: slot),
            read_callback: { _, _, _, room, flags, source, userData in
                guard let source, let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
                let stream = SessionCallbacks.state(userData).pointee.streams[source.pointee.fd]
                let left = stream.pointee.outgoing.readableBytes
                flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
                if left <= room { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return min(left, room)
            }
        )
    }

    /// A stream's user data: its slot plus one, because NULL means none.
    static func mark(_ slot: Int32) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: Int(slot) + 1)
    }

    static func slot(of id: Int32, _ session: OpaquePointer?) -> Int32? {
        nghttp2_session_get_stream_user_data(session, id).map { Int32(Int(bitPattern: $0) - 1) }
    }

    private static func state(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<SessionState> {
        guard let userData else { preconditionFailure("every session has its state") }
        return userData.assumingMemoryBound(to: SessionState.self)
    }

    private static func has(_ flag: nghttp2_flag, _ header: nghttp2_frame_hd) -> Bool {
        UInt32(header.flags) & flag.rawValue != 0
    }
}
