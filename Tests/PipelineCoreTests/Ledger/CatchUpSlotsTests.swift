import Testing

@testable import PipelineCore

@Suite struct CatchUpSlotsTests {
    private var slots = CatchUpSlots(count: 2)

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("So many partitions read at once as there are slots, and one that has a slot keeps it")
    mutating func limit() {
        let taken = [1, 2, 3, 1].map { slots.takeSlot(for: $0, now: at(0)) }
        #expect(taken == [true, true, false, true])
        #expect(slots.holds(1) && slots.holds(2) && !slots.holds(3))
    }

    @Test("The partition that waits longest comes first, whichever asks first")
    mutating func inTurn() {
        for partition in [1, 2, 3, 4] as [Int32] { _ = slots.takeSlot(for: partition, now: at(0)) }
        slots.giveBack(1)
        let taken = [5, 4, 3].map { slots.takeSlot(for: $0, now: at(1)) }
        #expect(taken == [false, false, true])
    }

    @Test("A partition that waits no more keeps no other waiting")
    mutating func leaves() {
        for partition in [1, 2, 3, 4] as [Int32] { _ = slots.takeSlot(for: partition, now: at(0)) }
        slots.giveBack(1)
        slots.giveBack(3)
        let isTaken = slots.takeSlot(for: 4, now: at(1))
        #expect(isTaken)
    }

    @Test("A turn is over after two seconds, if another partition waits")
    mutating func turns() {
        _ = slots.takeSlot(for: 1, now: at(0))
        _ = slots.takeSlot(for: 2, now: at(1))
        #expect(!slots.isOver(1, now: at(9)))
        _ = slots.takeSlot(for: 3, now: at(1))
        #expect(!slots.isOver(1, now: at(1)) && slots.isOver(1, now: at(2)) && !slots.isOver(2, now: at(2)))
        #expect(!slots.isOver(3, now: at(9)), "it has none yet")
    }
}
