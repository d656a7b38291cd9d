import Testing

@testable import BelfrySupport
@testable import KafkaClient

@Suite("Refused properties and librdkafka")
struct PromisedPropertyTests {
    @Test("Every property on which a promise rests is one that librdkafka knows, and takes with the promised value")
    func known() throws {
        var taken = 0
        for promise in KafkaPromise.all {
            let value: String
            switch promise.allowed {
            // A value that the roles set themselves is no word to try.
            case .nothing: continue
            case .flag(let flag): value = "\(flag)"
            case .words(let words): value = try #require(words.first)
            case .integers(let range): value = "\(range.upperBound)"
            }
            for name in promise.names {
                _ = try KafkaConfiguration([name: value], defaults: [:], isConsumer: false, inbox: KafkaInbox())
                taken += 1
            }
        }
        #expect(taken > 15)
    }
}
