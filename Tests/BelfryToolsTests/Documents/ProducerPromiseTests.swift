import Testing

@testable import BelfryProducer
@testable import BelfrySupport

/// The library for Swift and the roles promise the same.
@Suite struct ProducerPromiseTests {
    /// Consumers alone have them.
    private static let ofConsumers: Set = [
        "group.id", "enable.auto.commit", "auto.commit.enable", "enable.auto.offset.store", "auto.offset.reset",
        "enable.partition.eof", "isolation.level",
    ]

    @Test("Every property of producers on which a promise of the roles rests is refused by the library, too")
    func same() {
        let names = Set(KafkaPromise.all.flatMap(\.names))
        #expect(Self.ofConsumers.isSubset(of: names))
        #expect(names.subtracting(Self.ofConsumers).subtracting(ProducerConfiguration.promised).sorted() == [])
    }
}
