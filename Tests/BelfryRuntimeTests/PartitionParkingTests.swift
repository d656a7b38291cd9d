import Testing

@testable import BelfryRuntime
@testable import PipelineCore

/// What is committed of two topics whose records belong together.
@Suite struct PartitionParkingTests {
    private static let topic: UInt64 = 77

    /// Lag of 40 copies of two notifications, of which the second ones are done.
    private func parking() -> PartitionParking {
        var parking = PartitionParking(writer: "w")
        parking.places.noteEnd(100)
        parking.begin(at: 100, source: 7)
        _ = parking.places.handedOver(Self.topic)
        parking.places.stored(Self.topic, at: 139)
        let lag = PartitionState(
            topic: "push.parked",
            partition: 0,
            assignment: 1,
            startOffset: 100,
            alreadyDone: DoneRanges()
        )
        for number in 0..<UInt32(40) {
            _ = lag.frontier.append(offset: 100 + Int64(number), tokens: 2, alreadyDone: DoneRanges())
            lag.frontier.markDone(number, token: 1)
        }
        parking.lags[Self.topic] = lag
        return parking
    }

    private func finish(_ records: Range<UInt32>, of parking: PartitionParking) {
        for number in records { parking.lags[Self.topic]?.frontier.markDone(number, token: 0) }
    }

    @Test("Where all that is done of a lag is told, what followed it is done too")
    func told() {
        var parking = parking()
        parking.noteFollower(of: Self.topic, source: 55)
        let commit = parking.toCommit(metadataLimitBytes: 4096)
        #expect(commit?.position.offset == 100)
        #expect(commit?.sourceLimit == nil)
    }

    @Test("Where not all is told, the source is not committed beyond what first followed, until that is history")
    func untold() {
        var parking = parking()
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == nil, "nothing has followed")
        parking.noteFollower(of: Self.topic, source: 55)
        parking.noteFollower(of: Self.topic, source: 60)
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == 55)
        // More is parked, and followed by more: what the first followed is done before that.
        parking.places.stored(Self.topic, at: 199)
        parking.noteFollower(of: Self.topic, source: 90)
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == 55)
        finish(0..<39, of: parking)
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == nil, "there is room for what is left")
        for offset in 140..<Int64(180) {
            guard let lag = parking.lags[Self.topic] else { return }
            let number = lag.frontier.append(offset: offset, tokens: 2, alreadyDone: DoneRanges())
            lag.frontier.markDone(number, token: 1)
        }
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == 55)
        finish(39..<40, of: parking)
        #expect(parking.toCommit(metadataLimitBytes: 200)?.sourceLimit == 90)
    }

    @Test("Without lag, nothing limits the source, and no writers are named")
    func done() {
        var parking = parking()
        parking.noteFollower(of: Self.topic, source: 55)
        parking.lags[Self.topic] = nil
        let commit = parking.toCommit(metadataLimitBytes: 200)
        #expect(commit?.position == .init(offset: 140, metadata: ""))
        #expect(commit?.sourceLimit == nil)
    }
}
