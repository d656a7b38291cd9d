import CNghttp2
import NIOCore

/// The part of a session that nghttp2's callbacks read and write.
///
/// It lives at a fixed address, which is nghttp2's user data. While a function of nghttp2 runs no other call may be
/// inside of a mutating call of it: so the session calls nghttp2 only between its own accesses.
struct SessionState {
    let isServer: Bool
    let limits: PeerLimits
    var conduct: PeerConduct
    /// The time of the present `receive`.
    var now = NIODeadline.uptimeNanoseconds(0)

    var streams = StreamTable()
    /// The stream whose fields arrive; −1: there is none. Blocks of fields never mix on a connection.
    private var headerSlot: Int32 = -1
    /// The fields that arrive stand behind the body.
    private var areTrailers = false

    private var events: [SessionEvent] = []
    private var eventsTaken = 0
    /// Counts the calls of `receive` that began without events, so that a view of an earlier message is recognised.
    private(set) var generation: UInt32 = 0

    /// Frames for the peer.
    var output = ByteBuffer()
    /// Bytes of bodies that were given to streams and not sent yet.
    var stalledBytes = 0

    /// The window of received bodies goes back to the peer at once.
    var returnsWindow = true
    /// Bytes of the connection's window that were kept back.
    var withheldBytes = 0

    /// The limit that was exceeded inside of a callback.
    var excess: PeerExcess?
    /// The session is over.
    var failure: HTTP2Failure?
    /// GOAWAYs and resets that were sent since they were last taken.
    var dismissals = HTTP2Dismissals()
    /// Of the GOAWAYs among the events.
    private(set) var goAwayDebugData: [[UInt8]] = []

    init(isServer: Bool, limits: PeerLimits) {
        self.isServer = isServer
        self.limits = limits
        conduct = PeerConduct(limits: limits, expectsPreface: isServer)
    }

    func deallocate() {
        streams.deallocate()
    }
}

// MARK: Events

extension SessionState {
    /// Nothing is told behind the failure: nghttp2 still closes streams while it takes its leave.
    mutating func noteEvent(_ event: SessionEvent) {
        guard failure == nil else { return }
        events.append(event)
    }

    mutating func noteGoAway(last: Int32, code: UInt32, debugData: UnsafeBufferPointer<UInt8>) {
        noteEvent(.goAway(last: last, code: code, debugData: Int32(goAwayDebugData.count)))
        goAwayDebugData.append(Array(debugData))
    }

    mutating func nextEvent() -> SessionEvent? {
        guard eventsTaken < events.count else { return nil }
        defer { eventsTaken += 1 }
        return events[eventsTaken]
    }

    /// A new `receive` begins. Messages of events that were not taken yet stay readable.
    mutating func begin(now: NIODeadline) {
        self.now = now
        guard eventsTaken == events.count else { return }
        events.removeAll(keepingCapacity: true)
        eventsTaken = 0
        goAwayDebugData.removeAll()
        generation &+= 1
        streams.recycle()
    }
}

// MARK: Streams

extension SessionState {
    /// The stream is closed: notes it, and frees its slot.
    mutating func closed(_ slot: Int32, code: UInt32) {
        let stream = streams[slot]
        stalledBytes -= stream.pointee.outgoing.readableBytes
        // A server's requests that end with their answer, or were never handed out, are no news.
        let isNews = !isServer || (stream.pointee.isDelivered && code != NGHTTP2_NO_ERROR.rawValue)
        if isNews { noteEvent(.closed(id: stream.pointee.id, tag: stream.pointee.tag, code: code)) }
        if headerSlot == slot { headerSlot = -1 }
        streams.giveBack(slot)
    }

    /// The peer has sent all of its request or answer.
    mutating func completed(_ slot: Int32) {
        let stream = streams[slot]
        // An answer that is not final cannot end a stream; nghttp2 sees to that.
        guard !stream.pointee.isDelivered else { return }
        stream.pointee.isDelivered = true
        noteEvent(
            .message(
                slot: slot,
                id: stream.pointee.id,
                tag: stream.pointee.tag,
                status: stream.pointee.status
            )
        )
    }

    /// A client opened a stream. Returns its slot.
    mutating func opened(_ id: Int32) -> Int32 {
        let slot = streams.takeSlot()
        streams[slot].pointee.id = id
        beginFields(slot)
        return slot
    }

    /// A block of fields begins: the first one of a message, the final answer behind an informational one, or trailers.
    mutating func beginFields(_ slot: Int32) {
        let stream = streams[slot]
        headerSlot = slot
        let isFirst = stream.pointee.listBytes == 0
        areTrailers = !isFirst && !(100..<200).contains(stream.pointee.status)
        stream.pointee.listBytes = 0
        if !isFirst, !areTrailers { stream.pointee.message.reset() }
    }

    /// A field has arrived. Returns false if the peer has gone too far.
    mutating func received(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard headerSlot >= 0 else { return true }
        let stream = streams[headerSlot]
        // RFC 9113 §6.5.2: 32 bytes of overhead each.
        stream.pointee.listBytes += name.count + value.count + 32
        guard stream.pointee.listBytes <= limits.headerListBytes else {
            excess = .headerList(limitBytes: limits.headerListBytes)
            return false
        }
        if areTrailers { return true }
        if !isServer, name.first == UInt8(ascii: ":") {
            // An answer has one pseudo-header field, of three digits; nghttp2 checks that.
            stream.pointee.status = value.reduce(0) { $0 * 10 + Int32($1 &- UInt8(ascii: "0")) }
        } else {
            stream.pointee.message.appendField(name: name, value: value)
        }
        return true
    }

    /// Gives a stream its body to send.
    mutating func send(_ body: ByteBuffer, on slot: Int32) {
        stalledBytes += body.readableBytes
        streams[slot].pointee.outgoing = body
    }

    /// Writes a DATA frame, with the next `count` bytes of the stream's body.
    mutating func writeData(_ slot: Int32, header: UnsafeRawBufferPointer, count: Int) {
        let stream = streams[slot]
        output.writeBytes(header)
        stream.pointee.outgoing.withUnsafeReadableBytes { body in
            _ = output.writeBytes(UnsafeRawBufferPointer(rebasing: body[..<count]))
        }
        stream.pointee.outgoing.moveReaderIndex(forwardBy: count)
        stalledBytes -= count
    }

    /// The request was not accepted by nghttp2 at all.
    mutating func discard(_ slot: Int32) {
        stalledBytes -= streams[slot].pointee.outgoing.readableBytes
        streams.giveBack(slot)
    }

    /// Bytes of a body have arrived. Returns the number of bytes whose window goes back to the peer.
    mutating func receivedBody(_ slot: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        let stream = streams[slot]
        let room = limits.bodyBytes - stream.pointee.message.bodyBytes
        stream.pointee.bodyBytes += bytes.count
        stream.pointee.message.appendBody(UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
        guard returnsWindow else {
            withheldBytes += bytes.count
            stream.pointee.withheldBytes += bytes.count
            return 0
        }
        return bytes.count
    }
}
