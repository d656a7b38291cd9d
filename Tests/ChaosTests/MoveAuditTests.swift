import LocalPipeline
import PipelineCore
import Testing

@testable import belfry_chaos

@Suite("Moves of records that nothing allows")
struct MoveAuditTests {
    private typealias Scene = MoveScene

    private static let history = CommitHistory(delaySeconds: 3, patienceSeconds: 3)

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
                #expect(found.unstoredExamples.count == unstored && found.examples.isEmpty)
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
        var commits = Self.history
        let next = Scene.origin.offset + 1
        let stored = PositionMetadata.choose([], liveNext: next, limitBytes: 4096) { _, _ in DoneRanges() }
        commits.note(
            partition: Scene.origin.partition,
            offset: stored.offset,
            metadata: stored.metadata,
            second: 105
        )
        for (second, excess) in [(108, 0), (109, 1)] as [(UInt32, Int)] {
            let found = try audit(moved(again: second), [OwnershipEnds.End(second: 104)], commits)
            #expect(found.excess == excess && found.unstored == 0 && found.examples.count == excess)
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

    @Test("A record that is sent though it was moved counts once, and only if no other worker can have begun with it")
    func sentAfterwards() throws {
        var scene = try moved()
        scene.settle(Scene.origin, from: nil, at: 120)
        #expect(audit(scene).unstored == 1)
        #expect(audit(scene, [OwnershipEnds.End(second: 103)]).unstored == 0)
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
