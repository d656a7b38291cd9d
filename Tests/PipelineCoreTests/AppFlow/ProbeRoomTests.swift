import Testing

@testable import PipelineCore

@Suite("Room for topics that are probed")
struct ProbeRoomTests {
    private var room = ProbeRoom()
    private var now = MonotonicTime(nanoseconds: 0)

    /// Topics 0 and 1 hold records that wait for a probe, topic 2 waits for room.
    private static let probed = [
        ProbeRoom.Probed(topic: 0, bytes: 10, isHeld: true, hasWork: true),
        ProbeRoom.Probed(topic: 1, bytes: 10, isHeld: true, hasWork: true),
        ProbeRoom.Probed(topic: 2, bytes: 0, isHeld: false, hasWork: true),
    ]

    private mutating func turn(isFull: Bool = true, _ probed: [ProbeRoom.Probed] = Self.probed) -> Int32? {
        defer { now = now + ProbeRoom.turn }
        return room.share(isFull: isFull, now: now) { probed }
    }

    @Test("The first that held its records for a turn gives way, for a turn")
    mutating func turns() {
        let first = turn()
        #expect(first == nil, "they have had no turn yet")
        let second = turn()
        #expect(second == 0 && room.givingWay == 0)
        let between = room.share(isFull: true, now: MonotonicTime(nanoseconds: now.nanoseconds - 1)) { Self.probed }
        #expect(between == nil && room.givingWay == 0, "the turn is not over")
        let third = turn([Self.probed[1], Self.probed[2]])
        #expect(third == 1)
        let free = turn(isFull: false)
        #expect(free == nil && room.givingWay == nil)
    }

    @Test("Where no topic waits for room, or none holds records that wait, none gives way")
    mutating func noNeed() {
        let pair = Array(Self.probed.prefix(2))
        for _ in 0..<3 {
            let next = turn(pair)
            #expect(next == nil)
        }
        var busy = Self.probed
        for index in busy.indices { busy[index].isHeld = false }
        for _ in 0..<3 {
            let next = turn(busy)
            #expect(next == nil)
        }
    }

    @Test("A topic that waits for its probe without a record here has no room to give")
    mutating func emptyHolder() {
        var probed = Self.probed
        probed[0].bytes = 0
        _ = turn(probed)
        let second = turn(probed)
        #expect(second == 1)
    }
}
