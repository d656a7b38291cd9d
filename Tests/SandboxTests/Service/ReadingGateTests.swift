import NIOCore
import NIOEmbedded
import Testing

@testable import Sandbox

/// The gate in front of a gateway session, with time under control.
struct ReadingGateTests {
    /// Stands for the session: notes what gets through, and can stop in the middle.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var text = ""
        private(set) var isInputClosed = false
        var beforeReading: ((ByteBuffer) -> Int?)?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            let taken = beforeReading?(buffer) ?? buffer.readableBytes
            text += String(buffer: buffer).prefix(taken)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { isInputClosed = true }
        }
    }

    /// Stands for the socket: counts how often it is asked for more.
    private final class Socket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var reads = 0

        func read(context: ChannelHandlerContext) { reads += 1 }
    }

    private let topic = PushService.Topic(
        name: "a",
        devices: 10,
        settings: DeviceLedger.Settings(),
        number: 0,
        courier: CourierDirectory()
    )
    private let gate: ReadingGate
    private let socket = Socket()
    private let reader = Reader()
    private let channel: EmbeddedChannel

    init() throws {
        gate = ReadingGate(topic: topic)
        channel = EmbeddedChannel(handlers: [socket, gate, reader])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func arm(_ behaviour: Fault.Behaviour, times: Int? = nil) {
        topic.changeFaults { $0.arm(Fault(behaviour, times: times)) }
    }

    private func send(_ text: String) {
        channel.pipeline.fireChannelRead(ByteBuffer(string: text))
    }

    private func advance(milliseconds: Int64) {
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(milliseconds))
    }

    private func strikes(_ name: Fault.Name) -> Int? {
        topic.withLedger { $0.faults.strikes[name] }
    }

    /// Stops behind the next `taken` bytes that are delivered.
    private func stallAfter(_ taken: Int, milliseconds: Int64?) {
        arm(.stallAfter(count: 1, milliseconds: milliseconds))
        reader.beforeReading = { [gate, reader, topic] buffer in
            reader.beforeReading = nil
            var rest = buffer
            rest.moveReaderIndex(forwardBy: taken)
            gate.begin(topic.withLedger { $0.faults.takeStall() }, rest: rest)
            return taken
        }
    }

    @Test("Without a fault everything passes at once")
    func open() {
        send("a")
        channel.read()
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(reader.text == "a")
        #expect(reader.isInputClosed)
        #expect(socket.reads == 1)
    }

    @Test("round-trip hands on what was read so much later, in order, the end of the stream included")
    func roundTrip() {
        arm(.roundTrip(milliseconds: 100))
        send("a")
        advance(milliseconds: 60)
        send("b")
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        advance(milliseconds: 39)
        #expect(reader.text == "")
        advance(milliseconds: 1)
        #expect(reader.text == "a")
        advance(milliseconds: 59)
        #expect(reader.text == "a")
        #expect(!reader.isInputClosed)
        advance(milliseconds: 1)
        #expect(reader.text == "ab")
        #expect(reader.isInputClosed)
        #expect(strikes(.roundTrip) == 2)
    }

    @Test("When round-trip ends, nothing overtakes what is still on its way")
    func roundTripEnds() {
        arm(.roundTrip(milliseconds: 100))
        send("a")
        topic.changeFaults { $0.clear(.roundTrip) }
        send("b")
        #expect(reader.text == "")
        advance(milliseconds: 100)
        #expect(reader.text == "ab")
        send("c")
        #expect(reader.text == "abc")
    }

    @Test("round-trip holds so much and then asks for no more until some of it has left")
    func roundTripIsBounded() {
        arm(.roundTrip(milliseconds: 100))
        let chunk = ByteBuffer(repeating: 97, count: FaultLimits.heldBytes / 4)
        for _ in 0..<3 {
            channel.pipeline.fireChannelRead(chunk)
            channel.read()
        }
        #expect(socket.reads == 3)
        channel.pipeline.fireChannelRead(chunk)
        channel.read()
        #expect(socket.reads == 3)
        advance(milliseconds: 100)
        #expect(socket.reads == 4)
        #expect(reader.text.utf8.count == FaultLimits.heldBytes)
    }

    @Test("What was only late is still looked at when the connection breaks")
    func roundTripAndBreak() throws {
        arm(.roundTrip(milliseconds: 100))
        send("a")
        try channel.close().wait()
        #expect(reader.text == "a")
    }

    @Test("slow-reader asks for more only when what was read is worked off, and hands on at that pace")
    func slowReader() {
        arm(.slowReader(bytesPerSecond: 10))
        send("abcde")
        #expect(reader.text == "abcde")
        channel.read()
        advance(milliseconds: 499)
        #expect(socket.reads == 0)
        advance(milliseconds: 1)
        #expect(socket.reads == 1)
        // Bytes that come unasked wait.
        send("fg")
        send("h")
        #expect(reader.text == "abcdefg")
        advance(milliseconds: 199)
        #expect(reader.text == "abcdefg")
        advance(milliseconds: 1)
        #expect(reader.text == "abcdefgh")
        #expect(strikes(.slowReader) == 3)
    }

    @Test("When slow-reader is cleared, reading goes on at once")
    func slowReaderCleared() {
        arm(.slowReader(bytesPerSecond: 1))
        send("abcdefghijklmnopqrstuvwxyz")
        channel.read()
        send("!")
        topic.changeFaults { $0.clear(.slowReader) }
        channel.embeddedEventLoop.run()
        #expect(reader.text.hasSuffix("!"))
        #expect(socket.reads == 1)
    }

    @Test("A stall keeps the rest and reads nothing until its time is over")
    func stallWithTime() {
        stallAfter(1, milliseconds: 100)
        send("abc")
        channel.read()
        send("d")
        advance(milliseconds: 99)
        #expect(reader.text == "a")
        #expect(socket.reads == 0)
        advance(milliseconds: 1)
        #expect(reader.text == "abcd")
        #expect(socket.reads == 1)
    }

    @Test("A stall without time ends when stall-after is cleared, not when another fault is, though its times are over")
    func stallUntilCleared() {
        stallAfter(1, milliseconds: nil)
        arm(.stallAfter(count: 1, milliseconds: nil), times: 1)
        send("abc")
        channel.read()
        advance(milliseconds: 1_000_000)
        topic.changeFaults { $0.clear(.roundTrip) }
        channel.embeddedEventLoop.run()
        #expect(reader.text == "a")
        #expect(socket.reads == 0)
        topic.changeFaults { $0.clear() }
        channel.embeddedEventLoop.run()
        #expect(reader.text == "abc")
        #expect(socket.reads == 1)
    }

    @Test("A stall that is cleared before the connection could listen ends all the same")
    func stallClearedAtOnce() {
        arm(.stallAfter(count: 1, milliseconds: nil))
        reader.beforeReading = { [gate, reader, topic] _ in
            reader.beforeReading = nil
            let stall = topic.withLedger { $0.faults.takeStall() }
            topic.changeFaults { $0.clear() }
            gate.begin(stall, rest: ByteBuffer(string: "b"))
            return 1
        }
        send("ab")
        channel.embeddedEventLoop.run()
        #expect(reader.text == "ab")
    }

    @Test("A peer that closed its side of a stalled connection is given up after a while")
    func stallIsAbandoned() {
        stallAfter(1, milliseconds: nil)
        send("abc")
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.embeddedEventLoop.advanceTime(by: SandboxLimits.linger - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
        #expect(reader.text == "a", "what was not to be read stays unread")
    }
}
