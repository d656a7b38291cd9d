import LocalPipeline
import PipelineCore
import Testing

@testable import belfry_chaos

@Suite("Moves of records that nothing allows")
struct MoveAuditTests {
    private typealias Scene = MoveScene

    private static let history = CommitHistory(delaySeconds: 3, patienceSeconds: 3)

    /// The record at ``MoveScene/origin``, or a part of it, is seen to be stored as done at 105.
    private static func storedHistory(_ part: PositionMetadata.Position? = nil) -> CommitHistory {
        var commits = history
        let next = Scene.origin.offset + 1
        let all = PositionMetadata.choose([], liveNext: next, limitBytes: 4096) { _, _ in DoneRanges() }
        let stored = part ?? all
        commits.note(
            partition: Scene.origin.partition,
            offset: stored.offset,
            metadata: stored.metadata,
            second: 105
        )
        return commits
    }

    /// A record is moved at 100, and perhaps again.
    private func moved(again second: UInt32? = nil) throws -> Scene {
        var scene = try Scene()
        scene.publish()
        scene.move()
        if let second { scene.move(to: Scene.secondCopy, at: second) }
        return scene
    }

    private func audit(
        _ scene: Scene,
        _ ends: [OwnershipEnds.End] = [],
        _ commits: CommitHistory = history
    ) -> MoveAudit {
        MoveAudit(scene.books, commits, OwnershipEnds(ends))
    }

    @Test("One copy is no repetition, and another one is in excess unless its partition changed hands just then")
    func again() throws {
        let once = try audit(moved())
        #expect(once.excess == 0 && once.unstored == 0)
        let scene = try moved(again: 120)
        for (end, unstored) in [(96, 1), (97, 0), (106, 0), (107, 1)] as [(UInt32, Int)] {
            for partitions in [nil, [Scene.origin.partition]] as [Set<RequestPartition>?] {
                let found = audit(scene, [OwnershipEnds.End(second: end, partitions: partitions)])
                #expect(found.excess == 0 && found.unstored == unstored, "\(end)")
                #expect(found.examples.count == unstored && found.sent == 0)
            }
        }
        let others: Set = [Scene.copy.partition, RequestPartition(.urgent, 0)]
        #expect(audit(scene, [OwnershipEnds.End(second: 103, partitions: others)]).unstored == 1)
    }

    @Test("Copies of one moment are repetitions, too")
    func atOnce() throws {
        #expect(try audit(moved(again: 100)).unstored == 1)
        #expect(try audit(moved(again: 100), [OwnershipEnds.End(second: 100)]).unstored == 0)
    }

    @Test("A copy that came into the log after its successor had been made allows that one")
    func late() throws {
        var scene = try Scene()
        scene.publish()
        scene.move(to: Scene.secondCopy, at: 120)
        scene.move(at: 100, met: 130)
        #expect(audit(scene).unstored == 0)
    }

    @Test("A copy of what was stored as done before is in excess, whichever worker ended")
    func stored() throws {
        for (second, excess) in [(108, 0), (109, 1)] as [(UInt32, Int)] {
            let found = try audit(moved(again: second), [OwnershipEnds.End(second: 104)], Self.storedHistory())
            #expect(found.excess == excess && found.unstored == 0 && found.examples.count == excess)
        }
    }

    @Test("So is one of a record of which a part was stored as done, for that one stays")
    func storedInPart() throws {
        let topic = AppHash(bundleID: "com.example.sport", environment: "")
        let offset = Scene.origin.offset
        let part = PositionMetadata.choose([(topic, offset)], liveNext: offset + 10, limitBytes: 4096) { _, _ in
            var done = DoneRanges()
            let start = DoneRanges.Position(offset: offset, token: 1)
            done.append(start..<DoneRanges.Position(offset: offset + 1, token: 0))
            return done
        }
        for (second, excess) in [(108, 0), (109, 1)] as [(UInt32, Int)] {
            let found = try audit(moved(again: second), [OwnershipEnds.End(second: 104)], Self.storedHistory(part))
            #expect(found.excess == excess && found.unstored == 0, "\(second)")
        }
    }

    @Test("A copy made deep in an outage of the broker is in excess, and one made after it may be another's repetition")
    func outage() throws {
        var commits = Self.history
        commits.note(CommitHistory.Outage(start: 101, end: 110))
        #expect(try audit(moved(again: 107), [], commits).excess == 0)
        #expect(try audit(moved(again: 108), [], commits).excess == 1)
        let after = try audit(moved(again: 112), [], commits)
        #expect(after.excess == 0 && after.unstored == 0)
    }

    @Test("An outage excuses no copy that is made when producers had had their answers for long")
    func longAfterOutage() throws {
        var commits = Self.history
        commits.note(CommitHistory.Outage(start: 101, end: 110))
        for (second, unstored) in [(134, 0), (135, 1)] as [(UInt32, Int)] {
            let found = try audit(moved(again: second), [], commits)
            #expect(found.excess == 0 && found.unstored == unstored, "\(second)")
        }
    }

    @Test("A record that is sent though it was moved counts once, and only if no other worker can have begun with it")
    func sentAfterwards() throws {
        var scene = try moved()
        scene.settle(Scene.origin, from: nil, at: 120)
        let found = audit(scene)
        #expect(found.sent == 1 && found.sentExamples.count == 1)
        #expect(found.excess == 0 && found.unstored == 0 && found.examples.isEmpty, "it may have been presumed wrongly")
        #expect(audit(scene, [OwnershipEnds.End(second: 103)]).sent == 0)
    }

    @Test("A former owner may tell that it sent a record when it has just lost the partition, or goes on")
    func formerOwner() throws {
        var scene = try moved()
        scene.settle(Scene.origin, from: nil, at: 120)
        for (end, sent) in [(113, 1), (114, 0), (120, 0), (121, 1)] as [(UInt32, Int)] {
            for partitions in [nil, [Scene.origin.partition]] as [Set<RequestPartition>?] {
                let found = audit(scene, [OwnershipEnds.End(second: end, partitions: partitions)])
                #expect(found.sent == sent && found.excess == 0, "\(end)")
            }
        }
        let others: Set = [Scene.copy.partition, RequestPartition(.urgent, 0)]
        #expect(audit(scene, [OwnershipEnds.End(second: 118, partitions: others)]).sent == 1)
    }

    @Test("A moved record that is sent when it was stored as done is in excess, unless that is a former owner's word")
    func storedAndSent() throws {
        for (decided, excess) in [(108, 0), (109, 1)] as [(UInt32, Int)] {
            var scene = try moved()
            scene.settle(Scene.origin, from: nil, at: 109, decided: decided)
            // The change of hands at 98 is one that allows the sending, as far as outcomes tell.
            let found = audit(scene, [OwnershipEnds.End(second: 98)], Self.storedHistory())
            #expect(found.excess == excess && found.examples.count == excess && found.sent == 0, "\(decided)")
            #expect(audit(scene, [OwnershipEnds.End(second: 107)], Self.storedHistory()).excess == 0)
        }
    }

    @Test("A record that was sent may be moved only by another worker that does not know of its outcomes yet")
    func sentBefore() throws {
        var scene = try Scene()
        scene.publish()
        scene.settle(Scene.origin, from: nil, at: 100)
        scene.move(at: 120)
        #expect(audit(scene).unstored == 1)
        #expect(audit(scene, [OwnershipEnds.End(second: 103)]).unstored == 0)
    }
}
