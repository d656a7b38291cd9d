import Testing

@testable import BelfrySupport

@Suite struct NearestNameTests {
    @Test("Names are near when few letters differ")
    func distance() {
        #expect(NearestName.distance("shard", "shards") == 1)
        #expect(NearestName.distance("intervall", "interval") == 1)
        #expect(NearestName.distance("", "abc") == 3)
        #expect(NearestName.distance("abc", "abc") == 0)
    }

    @Test("The nearest of the near names is meant, and comes first; the others keep their order")
    func nearest() {
        let names = ["lease", "interval", "intervals"]
        #expect(NearestName.of("intervall", among: names) == "interval")
        #expect(NearestName.first("intervalls", among: names) == ["intervals", "lease", "interval"])
        #expect(NearestName.of("url", among: names) == nil && NearestName.first("url", among: names) == names)
        #expect(NearestName.of("url", among: []) == nil)
    }
}
