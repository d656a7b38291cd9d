import APNsProtocol
import Testing

@testable import PipelineCore

/// Silence counts only of what the peer's kernel has.
@Suite struct LaneAcknowledgementTests {
    private let probe = LaneProbe()

    /// Sends one notification whose last byte is at a position of the stream.
    private func send(upTo streamBytes: UInt64) {
        probe.publish()
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: streamBytes, now: probe.now)
    }

    private func acknowledge(_ streamBytes: UInt64) {
        probe.lane.acknowledged(streamBytes: streamBytes, now: probe.now)
    }

    @Test("What the peer has not acknowledged is never presumed, however long it takes")
    func unacknowledged() {
        probe.open()
        send(upTo: 2000)
        #expect(probe.awaitsAcknowledgement)
        #expect(probe.presumesAt == nil)
        acknowledge(1999)
        #expect(probe.silence(.seconds(86_400)) == .init())
        acknowledge(2000)
        #expect(!probe.awaitsAcknowledgement)
        #expect(probe.presumesAt == probe.now + LaneProbe.window)
        #expect(probe.silence(.milliseconds(1999)) == .init())
        #expect(probe.silence(.milliseconds(1)).presumed == [0])
    }

    @Test("Each part counts from its own acknowledgement, and one acknowledgement may cover several parts")
    func parts() {
        probe.open()
        for position in [1000, 2000, 3000] as [UInt64] {
            send(upTo: position)
            _ = probe.silence(.milliseconds(100))
        }
        acknowledge(2500)
        _ = probe.silence(.seconds(1))
        acknowledge(3000)
        #expect(probe.silence(.seconds(1)).presumed == [0, 1])
        #expect(probe.silence(.seconds(1)).presumed == [2])
        #expect(probe.presumesAt == nil)
    }

    @Test("What is written close together shares a mark and waits for the acknowledgement of its last byte")
    func sharedMark() {
        probe.open()
        send(upTo: 1000)
        send(upTo: 1100)
        acknowledge(1099)
        #expect(probe.presumesAt == nil)
        acknowledge(1100)
        #expect(probe.silence().presumed == [0, 1])
    }

    @Test("What is written after an acknowledgement does not join what was acknowledged")
    func noJoining() {
        probe.open()
        send(upTo: 1000)
        acknowledge(1000)
        send(upTo: 1100)
        #expect(probe.silence().presumed == [0])
        #expect(probe.silence(.seconds(60)) == .init())
    }

    @Test("An acknowledgement without a connection means nothing, and a new connection's stream begins anew")
    func anotherConnection() {
        probe.open()
        send(upTo: 5000)
        #expect(probe.end() == .init(resent: 1))
        acknowledge(5000)
        probe.open()
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 700, now: probe.now)
        acknowledge(699)
        #expect(probe.presumesAt == nil)
        acknowledge(700)
        #expect(probe.silence().presumed == [0])
    }

    @Test("Marks stay few while a peer acknowledges nothing, and the last byte written still counts")
    func bounded() {
        var marks = FlushMarks()
        for write in 1...100_000 as ClosedRange<UInt64> {
            marks.appendWritten(
                end: write,
                streamEnd: write * 10,
                now: .init(nanoseconds: write * 1_000_000_000),
                window: .seconds(2)
            )
        }
        marks.acknowledge(streamBytes: 999_999, now: .init(nanoseconds: 1))
        var count = 0
        while marks.first?.silentSince != nil {
            marks.removeFirst()
            count += 1
        }
        #expect(count < 256)
        #expect(marks.first?.end == 100_000)
        #expect(marks.awaitsAcknowledgement)
        marks.acknowledge(streamBytes: 1_000_000, now: .init(nanoseconds: 2))
        #expect(marks.first?.silentSince == .init(nanoseconds: 2))
    }
}
