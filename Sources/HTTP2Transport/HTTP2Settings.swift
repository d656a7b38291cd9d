import CNghttp2

/// Values of a SETTINGS frame (RFC 9113 §6.5.2): demands of its sender. `nil` is not sent, and stays as it was.
public struct HTTP2Settings: Sendable, Equatable {
    /// Streams that the peer may have open at once.
    public var maxConcurrentStreams: Int?
    /// Bytes of body that the peer may send on a stream before it gets more window. Protocol's default: 65,535.
    public var streamWindowBytes: Int?
    /// The largest payload of a frame, 16,384…16,777,215. Protocol's default: 16,384.
    public var maxFrameBytes: Int?

    public init(maxConcurrentStreams: Int? = nil, streamWindowBytes: Int? = nil, maxFrameBytes: Int? = nil) {
        self.maxConcurrentStreams = maxConcurrentStreams
        self.streamWindowBytes = streamWindowBytes
        self.maxFrameBytes = maxFrameBytes
    }

    /// The entries of the frame.
    var entries: [nghttp2_settings_entry] {
        let values = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, streamWindowBytes),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, maxFrameBytes),
        ]
        return values.compactMap { id, value in value.map { Self.entry(id, $0) } }
    }

    static func entry(_ id: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
    }
}
