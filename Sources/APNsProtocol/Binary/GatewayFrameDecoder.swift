/// The gateway's reading side of a connection: commands 0, 1 and 2, in any mixture and cut into chunks anywhere.
///
/// Whole frames are decoded where they lie; only an incomplete one at the end of a chunk is copied, at most
/// ``GatewayLimits/frameLimitBytes`` of it. The first notification that is malformed, or that the callback refuses,
/// ends the decoding: everything after it is discarded [13] and only followed to be counted.
///
/// A frame is judged when all of it is there: one that the end of the stream cuts off is ignored [ours]. The exception
/// is a frame that announces more than the frame limit, which is refused on its announcement.
///
/// Answers to faults [ours, from Apple's table and the observations of providers]:
///
/// | fault | status |
/// |---|---|
/// | no token, or one of length zero | 2 |
/// | a token of a length outside ``GatewayLimits/tokenBytes`` | 5 |
/// | no payload, or one of length zero | 4 |
/// | a payload over ``GatewayLimits/payloadLimitBytes`` | 7 |
/// | unknown command, unknown or duplicate item, item that overruns the frame | ``GatewayLimits/protocolErrorStatus`` |
/// | fixed-size item of another size, unknown priority | ``GatewayLimits/protocolErrorStatus`` |
/// | command 2 frame over its limit | ``GatewayLimits/protocolErrorStatus`` |
///
/// Items are judged one by one in their order; missing items at the end of the frame. The identifier in the answer is
/// the one read so far in that frame, else 0.
///
/// A value without references to its input; it may be moved between threads, and is used by one at a time.
public struct GatewayFrameDecoder: Sendable {
    /// The result of decoding one chunk.
    public enum Outcome: Hashable, Sendable {
        /// All of it was taken; the stream may go on.
        case needMore
        /// A notification was refused; reported once. The caller closes the connection after the answer; with command 0
        /// no answer is sent [10]. Everything after that notification was discarded.
        case failed(ErrorResponse, command: UInt8)
        /// The decoder had failed before: the bytes were discarded.
        case discarding
    }

    /// The rules for each notification.
    public let limits: GatewayLimits

    /// The beginning of an incomplete frame. Empty between frames.
    private var tail: [UInt8] = []

    /// Present from the first failure on.
    private var follower: FrameFollower?

    /// At the beginning of a stream.
    public init(limits: GatewayLimits) {
        self.limits = limits
    }

    /// The number of whole notifications discarded after the refused one. Counting stops at an unknown command: the
    /// beginning of the next frame cannot be known there.
    public var discarded: Int {
        // The follower starts with the refused frame, which is not one of the discarded.
        max(0, (follower?.wholeFrames ?? 0) - 1)
    }

    /// Bytes held of an incomplete frame, 0...``GatewayLimits/frameLimitBytes``.
    public var bufferedBytes: Int {
        tail.count
    }

    /// A notification was refused; from then on bytes are discarded.
    public var hasFailed: Bool {
        follower != nil
    }

    /// Takes the next bytes of the stream.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call.
    ///   - body: called once for each well-formed notification, in stream order. The view is valid during that call
    ///     only. A status other than `nil` refuses the notification (e.g. ``APNsStatus/invalidToken``). It must not
    ///     touch this decoder, which is being changed.
    public mutating func decode(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (NotificationView) -> APNsStatus?
    ) -> Outcome {
        guard !hasFailed else {
            follower?.follow(bytes)
            return .discarding
        }
        guard let base = bytes.baseAddress else { return .needMore }
        var offset = 0
        if !tail.isEmpty {
            switch completeTail(from: bytes, taken: &offset, body) {
            case .whole: break
            case .incomplete: return .needMore
            case .refused(let refusal): return fail(refusal, rest: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            }
        }
        while offset < bytes.count {
            let rest = UnsafeRawBufferPointer(start: base + offset, count: bytes.count - offset)
            switch Self.parseFrame(rest, limits: limits, body) {
            case .whole(let frameBytes):
                offset += frameBytes
            case .incomplete:
                tail.append(contentsOf: rest)
                return .needMore
            case .refused(let refusal):
                return fail(refusal, rest: rest)
            }
        }
        return .needMore
    }

    /// Adds the missing bytes of its frame to the tail and no byte more: the next frame is decoded in place again.
    private mutating func completeTail(
        from bytes: UnsafeRawBufferPointer,
        taken: inout Int,
        _ body: (NotificationView) -> APNsStatus?
    ) -> FrameVerdict {
        while true {
            let verdict = tail.withUnsafeBytes { Self.parseFrame($0, limits: limits, body) }
            switch verdict {
            case .whole:
                tail.removeAll(keepingCapacity: true)
                return verdict
            case .refused:
                return verdict
            case .incomplete(let neededBytes):
                let end = min(bytes.count, taken + neededBytes - tail.count)
                guard taken < end else { return verdict }
                tail.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[taken..<end]))
                taken = end
            }
        }
    }

    /// - Parameter rest: the bytes of the chunk that are not in the tail, the refused frame's bytes included.
    private mutating func fail(_ refusal: FrameRefusal, rest: UnsafeRawBufferPointer) -> Outcome {
        var follower = FrameFollower()
        tail.withUnsafeBytes { follower.follow($0) }
        follower.follow(rest)
        self.follower = follower
        tail = []
        let response = ErrorResponse(status: refusal.status, identifier: refusal.identifier)
        return .failed(response, command: refusal.command)
    }
}
