import APNsProtocol
import Testing

@testable import PipelineCore

/// A notification on which the gateway closes without a word.
@Suite struct LanePoisonTests {
    @Test("A notification alone on so many connections that ended without a word is refused; the back-off stays")
    func poison() {
        let probe = LaneProbe(loneCloses: 3)
        probe.publish()
        for _ in 0..<2 {
            #expect(probe.openAndSend() == [0])
            #expect(probe.end() == .init(resent: 1))
        }
        #expect(probe.openAndSend() == [0])
        let verdict = probe.lane.ended(.failed, now: probe.now, random: 0)
        #expect(
            verdict.refused
                == .init(
                    sequence: 0,
                    status: .unknown,
                    rule: .isolate,
                    isNamed: false,
                    wasPresumed: false,
                    standing: .first
                )
        )
        #expect(verdict.resent == 0 && probe.isDrained)
        probe.publish()
        #expect(!probe.wantsConnection)
        #expect(probe.openAndSend() == [1])
    }

    @Test("Poison among others gets alone by itself, and only it is refused", arguments: [0, 5, 7] as [UInt32])
    func amongOthers(culprit: UInt32) {
        let probe = LaneProbe()
        probe.publish(8)
        var refused: [UInt32] = []
        var presumed: [UInt32] = []
        var connections = 0
        while !probe.isDrained, connections < 40 {
            probe.open()
            connections += 1
            while !probe.isDrained {
                if probe.send().contains(culprit) {
                    refused += [probe.end().refused].compactMap(\.self)
                    break
                }
                presumed += probe.silence().presumed
            }
        }
        #expect(refused == [culprit])
        #expect(presumed == (0..<8).filter { $0 != culprit })
        #expect(connections < 20)
    }

    @Test("Each notification has its own count, and one that is presumed in between keeps nothing from another")
    func ownCounts() {
        let probe = LaneProbe(loneCloses: 2)
        probe.publish()
        _ = probe.openAndSend()
        #expect(probe.end().refused == nil)
        _ = probe.openAndSend()
        #expect(probe.silence().presumed == [0])
        probe.publish()
        probe.send()
        #expect(probe.end().refused == nil)
        #expect(probe.openAndSend() == [1])
        #expect(probe.end().refused == 1)
    }

    @Test("A notification that was not alone, or was not handed over, is not counted")
    func notAlone() {
        let probe = LaneProbe(loneCloses: 1)
        probe.publish(2)
        _ = probe.openAndSend()
        #expect(probe.end() == .init(resent: 2))
        probe.open()
        #expect(probe.end() == .init(), "nothing was handed over")
        probe.lane.connecting()
        #expect(probe.end() == .init(), "no connection came about")
    }

    @Test("An end that the lane, the certificate or a shutdown explains is not counted")
    func otherEnds() {
        let probe = LaneProbe(loneCloses: 1)
        probe.publish()
        for end in [.closedHere, .certificateRefused, .peerDead] as [ConnectionEnd] {
            _ = probe.openAndSend()
            #expect(probe.end(end).refused == nil, "\(end)")
        }
        _ = probe.openAndSend()
        #expect(probe.answer(.shutdown, identifier: 0) == .init(resent: 1))
    }

    @Test("While something forgotten is on the wire, or a sentinel behind it, the lone one is not blamed")
    func otherCauses() {
        let probe = LaneProbe(loneCloses: 1)
        probe.publish(1, assignment: 1)
        probe.publish(1, assignment: 2)
        _ = probe.openAndSend()
        probe.lane.forget(assignment: 1)
        #expect(probe.end() == .init(resent: 1))
        _ = probe.openAndSend()
        probe.lane.retire()
        #expect(probe.takeSentinel() != nil)
        #expect(probe.end() == .init(resent: 1))
        #expect(probe.openAndSend() == [1])
        #expect(probe.end() == .init(refused: 1))
    }

    @Test("A notification forgotten before it was handed over takes no blame from the lone one behind it")
    func forgottenBeforeSending() {
        let probe = LaneProbe(loneCloses: 1)
        probe.publish(1, assignment: 1)
        probe.publish(1, assignment: 2)
        probe.open()
        probe.lane.forget(assignment: 1)
        #expect(probe.send() == [1])
        #expect(probe.end() == .init(refused: 1))
    }

    @Test("By another policy than resend the first end settles it, and nothing is refused")
    func otherPolicies() {
        let giveUp = LaneProbe(unknownFate: .giveUp, loneCloses: 1)
        giveUp.publish()
        _ = giveUp.openAndSend()
        #expect(giveUp.end() == .init(unknown: [0]))
        let presume = LaneProbe(unknownFate: .presume, loneCloses: 1)
        presume.publish()
        _ = presume.openAndSend()
        #expect(presume.end() == .init(presumed: [0]))
    }

    @Test("An entry has 32 bytes")
    func entrySize() {
        #expect(MemoryLayout<FrameLog.Entry>.stride == 32)
    }
}
