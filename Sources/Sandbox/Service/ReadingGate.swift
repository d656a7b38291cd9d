import NIOCore

/// Stands in front of a provider's session and reads slowly, late or not at all, as the faults of its topics want it.
/// Without one of these faults everything passes at once.
///
/// Standing still means that the socket is not asked for more: the kernel's buffers fill up and the peer feels it. What
/// arrives nevertheless waits here in order: the rest of a record, and when the peer closes its side, all that the
/// kernel has, which NIO then reads unasked. Both are bounded, the second because nothing follows it.
///
/// Belongs to the channel's event loop.
final class ReadingGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private enum Arrival {
        case bytes(ByteBuffer)
        case inputClosed
    }

    private struct Stall {
        /// Nanoseconds of the event loop's clock; `Int64.max` = without end.
        let end: Int64
        /// The topic whose fault it is.
        let topic: PushService.Topic
        /// Over when `stall-after` was cleared more often than this.
        let clearings: Int
    }

    /// The topics whose notifications came by here.
    private var topics: [PushService.Topic]
    private var context: ChannelHandlerContext?
    private var line = DelayLine<Arrival>()
    private var pacer = ReadPacer()
    private var stall: Stall?
    private var isReadHeld = false
    private var isInputClosed = false
    private var isPumping = false
    private var timer: Scheduled<Void>?
    private var abandonment: Scheduled<Void>?
    /// Rate to which the size of reads was last fitted. In bytes per second; 0 = as fast as it goes.
    private var pacedRate = 0

    private var isListening = false

    /// - Parameter topic: nil: not known yet.
    init(topic: PushService.Topic?) {
        topics = topic.map { [$0] } ?? []
    }

    /// From now on the faults of this topic count, too.
    func serve(_ topic: PushService.Topic) {
        guard !topics.contains(where: { $0 === topic }) else { return }
        topics.append(topic)
        if isListening, let context { listen(context) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Bytes that a round trip delayed had arrived before the end. Bytes of a stall stay unread.
        if stall == nil {
            while let arrival = line.takeDue(now: .max) { deliver(arrival, context) }
        }
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let reading = reading
        if reading == FaultPlan.Reading(), line.isEmpty, stall == nil {
            context.fireChannelRead(data)
            return
        }
        let buffer = unwrapInboundIn(data)
        enqueue(.bytes(buffer), bytes: buffer.readableBytes, reading, context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        isInputClosed = true
        enqueue(.inputClosed, bytes: 0, reading, context)
        abandonIfStalled(context)
    }

    func read(context: ChannelHandlerContext) {
        guard mayRead(now: now(context)) else {
            isReadHeld = true
            schedule(context)
            return
        }
        context.read()
    }

    /// Stops here. Only called while this handler delivers.
    ///
    /// - Parameters:
    ///   - topic: the one whose fault it is; nil: the only one.
    ///   - rest: what was delivered and not taken.
    func begin(_ stall: FaultPlan.Stall, of topic: PushService.Topic? = nil, rest: ByteBuffer) {
        guard let context, let topic = topic ?? topics.first else { return }
        if rest.readableBytes > 0 { line.putBack(.bytes(rest), bytes: weight(rest.readableBytes)) }
        let end = stall.milliseconds.map { now(context) + $0 * 1_000_000 } ?? .max
        self.stall = Stall(end: end, topic: topic, clearings: stall.clearings)
        listen(context)
        schedule(context)
        if isInputClosed { abandonIfStalled(context) }
    }
}

// MARK: Passing on

extension ReadingGate {
    private func now(_ context: ChannelHandlerContext) -> Int64 {
        Int64(context.eventLoop.now.uptimeNanoseconds)
    }

    /// The slowest pace that one of the topics wants.
    private var reading: FaultPlan.Reading {
        topics.reduce(into: FaultPlan.Reading()) { slowest, topic in
            let reading = topic.withLedger { $0.faults.reading }
            slowest.roundTripMilliseconds = max(slowest.roundTripMilliseconds, reading.roundTripMilliseconds)
            guard reading.bytesPerSecond > 0 else { return }
            let limit = slowest.bytesPerSecond == 0 ? .max : slowest.bytesPerSecond
            slowest.bytesPerSecond = min(limit, reading.bytesPerSecond)
        }
    }

    /// Counts a strike at the topics that have the fault.
    private func strike(_ name: Fault.Name, _ isOn: (FaultPlan.Reading) -> Bool) {
        for topic in topics {
            topic.withLedger { if isOn($0.faults.reading) { $0.faults.strike(name) } }
        }
    }

    /// An arrival costs memory even if it has but one byte.
    private func weight(_ bytes: Int) -> Int { bytes + 256 }

    private func enqueue(
        _ arrival: Arrival,
        bytes: Int,
        _ reading: FaultPlan.Reading,
        _ context: ChannelHandlerContext
    ) {
        var due = now(context)
        if reading.roundTripMilliseconds > 0, bytes > 0 {
            strike(.roundTrip) { $0.roundTripMilliseconds > 0 }
        }
        due += reading.roundTripMilliseconds * 1_000_000
        line.append(arrival, bytes: weight(bytes), due: due)
        pump(context)
    }

    private func pump(_ context: ChannelHandlerContext) {
        // A delivery may bring this about again.
        guard !isPumping else { return }
        isPumping = true
        var hasDelivered = false
        while mayDeliver(now: now(context)), let arrival = line.takeDue(now: now(context)) {
            hasDelivered = true
            deliver(arrival, context)
        }
        isPumping = false
        // Handlers that answer at the end of a read would wait for the socket's next one.
        if hasDelivered { context.fireChannelReadComplete() }
        if isReadHeld, mayRead(now: now(context)) {
            isReadHeld = false
            context.read()
        }
        schedule(context)
    }

    private func deliver(_ arrival: Arrival, _ context: ChannelHandlerContext) {
        switch arrival {
        case .bytes(let buffer):
            pace(buffer.readableBytes, context)
            context.fireChannelRead(wrapInboundOut(buffer))
        case .inputClosed:
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }

    private func pace(_ bytes: Int, _ context: ChannelHandlerContext) {
        let bytesPerSecond = reading.bytesPerSecond
        guard bytesPerSecond > 0 else { return }
        strike(.slowReader) { $0.bytesPerSecond > 0 }
        pacer.took(bytes, bytesPerSecond: bytesPerSecond, now: now(context))
        if pacedRate != bytesPerSecond {
            pacedRate = bytesPerSecond
            let readBytes = ReadPacer.readBytes(bytesPerSecond: bytesPerSecond)
            setAllocator(FixedSizeRecvByteBufferAllocator(capacity: readBytes), context)
            listen(context)
        }
    }

    private func setAllocator(_ allocator: any RecvByteBufferAllocator, _ context: ChannelHandlerContext) {
        // A channel without this option (a test's) reads as it likes.
        try? context.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
    }

    /// More may be read. Data that waits only for its time does not prevent that, up to a limit.
    private func mayRead(now: Int64) -> Bool {
        mayDeliver(now: now) && line.bytes < FaultLimits.heldBytes
    }

    private func mayDeliver(now: Int64) -> Bool {
        if let end = stall?.end {
            guard end <= now else { return false }
            stall = nil
        }
        return pacer.nextReadAt <= now
    }
}

// MARK: Waiting

extension ReadingGate {
    /// Wakes up when something may be done that may not be done now.
    private func schedule(_ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        guard let wake = nextWake(now: now(context)) else { return }
        let deadline = NIODeadline.uptimeNanoseconds(UInt64(wake))
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.pump(context) }
    }

    private func nextWake(now: Int64) -> Int64? {
        guard isReadHeld || !line.isEmpty else { return nil }
        if let end = stall?.end { return end == .max ? nil : max(end, pacer.nextReadAt) }
        if pacer.nextReadAt > now { return pacer.nextReadAt }
        return line.nextDue.map { max($0, now) }
    }

    /// Asks to be told when the topic's faults change, and looks whether they have, meanwhile.
    private func listen(_ context: ChannelHandlerContext) {
        isListening = true
        let eventLoop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        let look: @Sendable () -> Void = { eventLoop.execute { bound.value.faultsChanged() } }
        for topic in topics { topic.bell.listen(self, look) }
        look()
    }

    private func faultsChanged() {
        guard let context else { return }
        if let stall, stall.topic.withLedger({ $0.faults.clearings(of: .stallAfter) }) > stall.clearings {
            self.stall = nil
        }
        if reading.bytesPerSecond == 0, pacedRate > 0 {
            pacedRate = 0
            pacer.reset()
            setAllocator(SandboxLimits.readAllocator, context)
        }
        pump(context)
    }

    /// A peer that has closed its side while nothing is read is not waited for without end: it may be gone, and its
    /// socket and its last bytes with it.
    private func abandonIfStalled(_ context: ChannelHandlerContext) {
        guard stall != nil, abandonment == nil else { return }
        abandonment = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.linger) {
            self.abandonment = nil
            if self.stall != nil { context.close(promise: nil) }
        }
    }

    private func end() {
        for topic in topics { topic.bell.stop(self) }
        timer?.cancel()
        timer = nil
        abandonment?.cancel()
        abandonment = nil
        line = DelayLine()
    }
}
