import Testing

@testable import PipelineCore

/// The positions of a role that applies records.
@Suite struct AppliedPositionsTests {
    @Test("Nothing of a partition is wanted before it is held, and then only what was not applied")
    func wanted() {
        var positions = AppliedPositions()
        #expect(!positions.wants(3, offset: 100))
        positions.begin(at: [3: 7, 4: -2])
        #expect(positions.all == [3: 7, 4: -2])
        #expect(positions.wants(3, offset: 7) && !positions.wants(3, offset: 6) && positions.wants(4, offset: 0))
    }

    @Test("Positions move in held partitions alone; one that is assigned once more begins anew")
    func moved() {
        var positions = AppliedPositions()
        positions.begin(at: [1: 10, 2: 20])
        positions.moved([2: 25, 3: 5])
        #expect(positions.all == [1: 10, 2: 25], "what is in hand of the other counts as not applied")
        positions.begin(at: [1: 5])
        #expect(positions[1] == 5 && positions[2] == 25)
        positions.end([2, 3])
        #expect(positions.all == [1: 5])
    }
}
