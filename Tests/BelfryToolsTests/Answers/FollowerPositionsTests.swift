import KafkaClient
import Testing

@testable import BelfryTools

/// The places at which `belfry outcomes` goes on after a rebalance.
@Suite struct FollowerPositionsTests {
    @Test("A partition that is assigned again goes on behind what was read, or where it began")
    func again() {
        var positions = FollowerPositions()
        #expect(positions.unknown([0, 1]) == [0, 1] && !positions.areLatecomers)
        positions.begin(0, at: KafkaOffset.beginning)
        positions.begin(1, at: 40)
        positions.read(0, 6)
        #expect(positions.unknown([0, 1]).isEmpty)
        positions.begin(0, at: KafkaOffset.beginning)
        positions.begin(1, at: 55)
        #expect(positions.start(of: 0) == 7 && positions.start(of: 1) == 40)
    }

    @Test("A partition that comes later is read from its beginning: all that stands in it is new")
    func latecomers() {
        var positions = FollowerPositions()
        positions.begin(0, at: 40)
        #expect(positions.unknown([0, 1]) == [1] && positions.areLatecomers)
        positions.begin(1, at: KafkaOffset.beginning)
        #expect(positions.start(of: 1) == KafkaOffset.beginning)
    }
}
