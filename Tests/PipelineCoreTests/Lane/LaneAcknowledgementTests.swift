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

    @Test("A notification that the peer has not acknowledged is never presumed, however long it takes")
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

    @Test("A peer that acknowledges nothing of what was written for its time-out is dead")
    func deadPeer() {
        probe.open()
        #expect(probe.peerDeadAt == nil, "nothing is written yet")
        _ = probe.silence(.seconds(60))
        send(upTo: 2000)
        let written = probe.now
        #expect(probe.peerDeadAt == written + .seconds(10))
        _ = probe.silence(.milliseconds(9999))
        #expect(!probe.isPeerDead)
        _ = probe.silence(.milliseconds(1))
        #expect(probe.isPeerDead)
        acknowledge(2000)
        #expect(!probe.isPeerDead && probe.peerDeadAt == nil)
    }

    @Test("A peer that acknowledges a part lives on from then; to repeat an acknowledgement is no sign of life")
    func slowPeer() {
        probe.open()
        send(upTo: 2000)
        _ = probe.silence(.seconds(9))
        acknowledge(1000)
        let progress = probe.now
        #expect(probe.peerDeadAt == progress + .seconds(10))
        _ = probe.silence(.seconds(9))
        acknowledge(1000)
        #expect(probe.peerDeadAt == progress + .seconds(10))
        send(upTo: 3000)
        #expect(probe.peerDeadAt == progress + .seconds(10), "what is written later gives no time")
        _ = probe.silence(.seconds(1))
        #expect(probe.isPeerDead)
    }

    @Test("A new connection's peer has its own time, and its first bytes are progress")
    func nextPeer() {
        probe.open()
        send(upTo: 5000)
        acknowledge(4000)
        _ = probe.silence(.seconds(10))
        #expect(probe.isPeerDead)
        #expect(probe.end(.peerDead) == .init(resent: 1))
        #expect(!probe.isPeerDead && !probe.wantsConnection, "a failure with its back-off")
        probe.open()
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 700, now: probe.now)
        #expect(probe.peerDeadAt == probe.now + .seconds(10))
        _ = probe.silence(.seconds(5))
        acknowledge(699)
        #expect(probe.peerDeadAt == probe.now + .seconds(10))
    }

    @Test("Where acknowledgements are not told no peer is called dead")
    func untold() {
        probe.publish()
        probe.open()
        probe.send(flush: false)
        _ = probe.silence(.seconds(3600))
        #expect(!probe.isPeerDead)
        probe.send()
        #expect(!probe.isPeerDead && probe.peerDeadAt == nil)
    }

    @Test("Dead peers in a row neither make groups nor blame the notification that was alone")
    func deadPeersBlameNobody() {
        for count in [1, 4] {
            let probe = LaneProbe(loneCloses: 1)
            probe.publish(count)
            for _ in 0..<4 {
                #expect(probe.openAndSend().count == count)
                #expect(probe.end(.peerDead) == .init(resent: count))
            }
        }
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
