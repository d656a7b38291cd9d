import APNsProtocol
import Testing

@testable import PipelineCore

/// Answers that name nothing, in-flight limits, revoked partitions, memory.
@Suite struct LaneIsolationTests {
    @Test("One answer that names nothing sends everything again; after two in a row half goes first")
    func halving() {
        let probe = LaneProbe()
        probe.publish(8)
        #expect(probe.openAndSend().count == 8)
        #expect(probe.answer(.unknown, identifier: 0) == .init(resent: 8))
        #expect(probe.openAndSend().count == 8)
        #expect(probe.answer(.noErrors, identifier: 5) == .init(resent: 8))
        #expect(probe.openAndSend() == [0, 1, 2, 3])
        #expect(probe.answer(.unknown, identifier: 0) == .init(resent: 4))
        #expect(probe.openAndSend() == [0, 1])
    }

    @Test("A lone suspect that is answered again is rejected, and the next connection waits")
    func loneSuspect() {
        let probe = LaneProbe()
        probe.publish(2)
        _ = probe.openAndSend()
        _ = probe.answer(.unknown, identifier: 0)
        _ = probe.openAndSend()
        _ = probe.answer(.unknown, identifier: 0)
        #expect(probe.openAndSend() == [0])
        #expect(probe.answer(.unknown, identifier: 0) == .init(refused: 0))
        #expect(!probe.wantsConnection)
        #expect(probe.openAndSend() == [1])
    }

    @Test("A group that settles in silence lets the next one go, twice as large")
    func groupsGrow() {
        let probe = LaneProbe()
        probe.publish(16)
        for _ in 0..<4 {
            _ = probe.openAndSend()
            _ = probe.answer(.unknown, identifier: 0)
        }
        #expect(probe.openAndSend() == [0, 1])
        #expect(probe.send() == [])
        #expect(probe.silence().presumed == [0, 1])
        #expect(probe.send() == [2, 3, 4, 5])
        _ = probe.silence()
        #expect(probe.send() == Array(6..<14))
        _ = probe.silence()
        probe.publish(1)
        #expect(probe.send() == [14, 15])
        _ = probe.silence()
        #expect(probe.send() == [16])
    }

    @Test("A culprit among thousands is found in a few dozen connections, and no other notification is rejected")
    func culpritIsFound() {
        let probe = LaneProbe(inFlight: 100_000)
        probe.publish(5000)
        let culprit: UInt32 = 3333
        var refused: [UInt32] = []
        var connections = 0
        while !probe.isDrained, connections < 200 {
            probe.open()
            connections += 1
            while true {
                let sent = probe.send()
                if sent.contains(culprit) {
                    refused += [probe.answer(.unknown, identifier: 0).refused].compactMap(\.self)
                    break
                }
                _ = probe.silence()
                if probe.isDrained { break }
            }
            if probe.isDrained { break }
        }
        #expect(probe.isDrained)
        #expect(refused == [culprit])
        #expect(connections < 60)
    }

    @Test("By another policy than resend, an answer that names nothing settles all that was handed over")
    func unattributedByPolicy() {
        for flush in [true, false] {
            let giveUp = LaneProbe(unknownFate: .giveUp)
            giveUp.publish(2)
            giveUp.open()
            giveUp.send(flush: flush)
            #expect(giveUp.answer(.unknown, identifier: 0) == .init(unknown: [0, 1]))
            let presume = LaneProbe(unknownFate: .presume)
            presume.publish(2)
            presume.open()
            presume.send(flush: flush)
            #expect(presume.answer(.unknown, identifier: 0) == .init(presumed: [0, 1]))
        }
    }

    @Test("An answer that names nothing while nothing is in flight is a failure with back-off")
    func unattributedIdle() {
        let probe = LaneProbe()
        probe.publish()
        _ = probe.openAndSend()
        _ = probe.silence()
        #expect(probe.answer(.unknown, identifier: 0) == .init())
        probe.publish()
        #expect(!probe.wantsConnection)
    }

    @Test("With a gateway that closes after every so many, smaller groups get through, and no notification is blamed")
    func closesAfterSome() {
        let probe = LaneProbe()
        probe.publish(200)
        var settled = 0
        var connections = 0
        while !probe.isDrained, connections < 200 {
            probe.open()
            connections += 1
            var room = 10
            while true {
                room -= probe.send().count
                if room < 0 { break }
                settled += probe.silence().presumed.count
                if probe.isDrained { break }
            }
            let verdict = probe.end()
            #expect(verdict.refused == nil && verdict.unknown == [])
        }
        #expect(settled == 200)
    }

    @Test("Connections that fail before anything was handed over make no groups")
    func failsBeforeSending() {
        let probe = LaneProbe()
        probe.publish(3)
        for _ in 0..<3 {
            probe.open()
            #expect(probe.end() == .init())
        }
        #expect(probe.openAndSend() == [0, 1, 2])
    }

    @Test("No more is handed over than the in-flight limit")
    func inFlightLimit() {
        let probe = LaneProbe(inFlight: 3)
        probe.publish(7)
        #expect(probe.openAndSend() == [0, 1, 2])
        #expect(probe.send() == [])
        _ = probe.silence()
        #expect(probe.send() == [3, 4, 5])
        #expect(probe.inFlight == 3 && probe.waiting == 1)
    }

    @Test("No more bytes are handed over than the limit, whatever their number")
    func inFlightBytes() {
        let probe = LaneProbe(inFlightBytes: 3 * FrameLog.chunkBytes)
        probe.publish(200, bytes: 1000)
        let first = probe.openAndSend().count
        #expect(first == 48, "three chunks of sixteen")
        #expect(probe.inFlightBytes <= 3 * FrameLog.chunkBytes)
        #expect(probe.send() == [])
        #expect(probe.silence().presumed.count == first)
        #expect(probe.send().count == 48)
    }

    @Test("Discarded notifications are neither sent nor sent again; those that are out keep their fate")
    func discarding() {
        let probe = LaneProbe()
        probe.publish(2, checksum: 7)
        probe.publish(1, checksum: 8)
        #expect(probe.openAndSend() == [0, 1, 2])
        probe.publish(1, checksum: 7)
        probe.publish(1, checksum: 8)
        #expect(probe.discard(7) == [3])
        #expect(probe.answer(.invalidToken, 0) == .init(refused: 0, resent: 2))
        #expect(probe.discard(7) == [1])
        #expect(probe.openAndSend() == [2, 4])
        #expect(probe.silence().presumed == [2, 4])
        #expect(probe.isDrained)
    }

    @Test("A partition that is being revoked sends nothing new, but what is in flight settles or is sent again")
    func stopSending() {
        let probe = LaneProbe()
        probe.publish(2, assignment: 1)
        probe.open()
        probe.send()
        probe.publish(2, assignment: 1)
        probe.publish(1, assignment: 2)
        probe.lane.stopSending(assignment: 1)
        #expect(probe.send() == [4])
        #expect(probe.answer(.invalidToken, 0) == .init(refused: 0, resent: 2))
        #expect(probe.openAndSend() == [1, 4])
        #expect(probe.silence().presumed == [1, 4])
        #expect(probe.isDrained)
    }

    @Test("Of a partition that is gone nothing is sent again, not even what was presumed")
    func forget() {
        let probe = LaneProbe()
        probe.publish(1, assignment: 2)
        probe.publish(1, assignment: 1)
        probe.open()
        probe.send()
        _ = probe.silence()
        probe.evict()
        probe.publish(1, assignment: 1)
        probe.publish(1, assignment: 2)
        probe.send()
        probe.lane.forget(assignment: 1)
        #expect(probe.answer(.invalidToken, 0) == .init(refused: 0, wasPresumed: true, resent: 1))
        #expect(probe.openAndSend() == [3])
    }

    @Test("Notifications forgotten while nothing is in flight want no connection")
    func forgetAll() {
        let probe = LaneProbe()
        probe.publish(3)
        probe.lane.forget(assignment: 1)
        #expect(probe.isDrained && !probe.wantsConnection)
    }

    @Test("While something forgotten is still on the wire a lone suspect is not blamed; on the next connection it is")
    func forgottenOnTheWire() {
        let probe = LaneProbe()
        probe.publish(1, assignment: 1)
        probe.publish(1, assignment: 2)
        _ = probe.openAndSend()
        _ = probe.answer(.unknown, identifier: 0)
        _ = probe.openAndSend()
        probe.lane.forget(assignment: 1)
        #expect(probe.answer(.unknown, identifier: 0) == .init(resent: 1))
        #expect(probe.openAndSend() == [1])
        #expect(probe.answer(.unknown, identifier: 0) == .init(refused: 1))
    }

    @Test("A suspect that is forgotten frees the others")
    func forgetSuspect() {
        let probe = LaneProbe()
        probe.publish(1, assignment: 1)
        probe.publish(2, assignment: 2)
        _ = probe.openAndSend()
        _ = probe.answer(.unknown, 0)
        #expect(probe.openAndSend() == [0])
        probe.lane.forget(assignment: 1)
        #expect(probe.send() == [1, 2])
    }

    @Test("Presumed notifications stay for a late answer up to the set bytes, and none after the connection's end")
    func retention() {
        let probe = LaneProbe(inFlight: 10_000, retainedBytes: 4 * FrameLog.chunkBytes)
        probe.publish(500, bytes: 1000)
        probe.open()
        probe.send()
        _ = probe.silence()
        probe.evict()
        #expect(probe.storedBytes <= 5 * FrameLog.chunkBytes)
        #expect(probe.keptEntries >= 3 * (FrameLog.chunkBytes / 1000))
        _ = probe.end(.closedHere)
        probe.evict()
        #expect(probe.keptEntries == 0 && probe.storedBytes == 0)
    }

    @Test("With a share, what stays is less once the connection is too old for its certificate to be refused")
    func retainedShare() {
        let probe = LaneProbe(inFlight: 10_000, retainedBytes: 4 * FrameLog.chunkBytes)
        probe.lane.retainedShare = FrameLog.chunkBytes
        probe.publish(500, bytes: 1000)
        probe.open()
        probe.send()
        _ = probe.silence()
        probe.evict()
        #expect(probe.keptEntries >= 3 * (FrameLog.chunkBytes / 1000))
        probe.now = probe.now + .seconds(8)
        probe.evict()
        #expect(probe.keptEntries > 0 && probe.storedBytes <= 2 * FrameLog.chunkBytes)
    }
}
