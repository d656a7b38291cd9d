import BelfrySupport
import NIOCore
import NIOEmbedded
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import TokenState

@Suite("Filters of dead tokens")
struct TombstoneFiltersTests {
    private let eventLoop = EmbeddedEventLoop()
    private let reader = EmbeddedEventLoop()
    private let log = LogLines()

    private static let other = "com.example.other"
    private static let maxAge = Duration.seconds(30)

    private func filters(memoryBytes: Int = .max) -> TombstoneFilters {
        TombstoneFilters(
            maxAge: Self.maxAge,
            memoryBytes: memoryBytes,
            writer: eventLoop,
            readers: [reader],
            logger: log.logger
        ) { _, bundleID in [TokenStore.bundleID, Self.other].contains(bundleID) }
    }

    /// So many deaths of a bundle, each of another token.
    private func fill(_ filters: TombstoneFilters, _ count: Int, bundleID: String = TokenStore.bundleID) {
        for number in 0..<count {
            let token = withUnsafeBytes(of: number.littleEndian) { Array($0) }
            filters.merge(environment: TokenStore.environment, bundleID: bundleID, token: token, .dead(at: 1))
            // The tables that were replaced go when the readers have left them.
            reader.run()
            eventLoop.run()
        }
    }

    @Test("What is known is trusted up to the longest age, to the nanosecond, and not before everything is known")
    func age() {
        let filters = filters()
        let time = MonotonicTime(nanoseconds: 5_000_000_000)
        #expect(!filters.isComplete(now: time) && filters.completeSince == nil)
        filters.complete(asOf: time)
        #expect(filters.completeSince == time)
        #expect(filters.isComplete(now: time))
        #expect(filters.isComplete(now: time + Self.maxAge))
        #expect(!filters.isComplete(now: time + Self.maxAge + .nanoseconds(1)))
        filters.complete(asOf: time + .seconds(1))
        #expect(filters.isComplete(now: time + Self.maxAge + .nanoseconds(1)))
        filters.complete(asOf: nil)
        #expect(!filters.isComplete(now: time) && filters.completeSince == nil)
    }

    @Test(
        "Each bundle in each environment has its own; a removal is for all environments; who is not sent to is not kept"
    )
    func names() {
        let filters = filters()
        let token = [UInt8](repeating: 1, count: 32)
        for environment in ["sandbox", "production"] {
            filters.merge(environment: environment, bundleID: TokenStore.bundleID, token: token, .dead(at: 1))
        }
        filters.merge(environment: "sandbox", bundleID: "com.example.foreign", token: token, .dead(at: 1))
        #expect(filters.count == 2)
        #expect(filters.holds(1) && filters.holds(1, environment: "production"))
        #expect(!filters.holds(1, bundleID: Self.other))
        filters.merge(environment: "sandbox", bundleID: Self.other, token: token, .dead(at: 1))
        filters.forget(bundleID: TokenStore.bundleID, token: token)
        #expect(!filters.holds(1) && !filters.holds(1, environment: "production"))
        #expect(filters.holds(1, bundleID: Self.other))
    }

    @Test("Who notes a change hears of it when every reader finds it")
    func noting() {
        let filters = filters()
        var isNoted = false
        filters.note(.death(1), .dead(at: 1), from: reader) { isNoted = true }
        reader.run()
        #expect(!isNoted && !filters.holds(1))
        eventLoop.run()
        #expect(!isNoted && filters.holds(1))
        reader.run()
        #expect(isNoted)
    }

    @Test("Its memory is that of its tables, and of those it grew out of for as long as a reader may be in them")
    func memory() {
        let filters = filters()
        fill(filters, 192)
        let first = TombstoneFilter.firstBytes
        #expect(filters.bytes == first)
        let token = [UInt8](repeating: 1, count: 32)
        filters.merge(environment: TokenStore.environment, bundleID: TokenStore.bundleID, token: token, .dead(at: 1))
        #expect(filters.bytes == 3 * first)
        eventLoop.run()
        #expect(filters.bytes == 3 * first, "a reader may still be inside")
        reader.run()
        eventLoop.run()
        #expect(filters.bytes == 2 * first)
        #expect(filters.count == 193)
    }

    @Test("A tombstone takes 11 to 22 bytes, and 32 while the filter grows")
    func bytesEach() {
        let filters = filters()
        var (least, most, peak) = (Double.infinity, 0.0, 0.0)
        fill(filters, 10_000)
        for number in 10_000..<100_000 {
            let token = withUnsafeBytes(of: number.littleEndian) { Array($0) }
            filters.merge(
                environment: TokenStore.environment,
                bundleID: TokenStore.bundleID,
                token: token,
                .dead(at: 1)
            )
            peak = max(peak, Double(filters.bytes) / Double(filters.count))
            reader.run()
            eventLoop.run()
            most = max(most, Double(filters.bytes) / Double(filters.count))
            least = min(least, Double(filters.bytes) / Double(filters.count))
        }
        #expect(least > 10.6 && most < 22 && peak < 32)
    }

    @Test("The default holds a hundred million tombstones of one bundle")
    func standard() {
        // The largest table that may be filled to three quarters; what it grows out of is half of it.
        let words = 1 << 27
        #expect(words * 3 / 4 >= 100_000_000)
        #expect(words * 8 * 3 / 2 <= WorkerSettings().filterMemoryBytes)
    }

    @Test("A filter that would take too much is given up, with one line: it holds every token, others go on")
    func givenUp() {
        let first = TombstoneFilter.firstBytes
        // It grows once, from one to two beside the other bundle's one, and not twice.
        let filters = filters(memoryBytes: 6 * first)
        fill(filters, 10, bundleID: Self.other)
        fill(filters, 384)
        #expect(filters.givenUp == 0 && log.messages.isEmpty && filters.count == 394)
        #expect(!filters.holds(1))
        fill(filters, 385)
        #expect(filters.givenUp == 1)
        #expect(filters.bytes == first && filters.count == 10, "its memory is free")
        #expect(filters.holds(1))
        #expect(!filters.holds(1, bundleID: Self.other))

        fill(filters, 400)
        filters.forget(bundleID: TokenStore.bundleID, token: Array(repeating: 1, count: 32))
        filters.merge(
            environment: TokenStore.environment,
            bundleID: TokenStore.bundleID,
            token: Array(repeating: 1, count: 32),
            .revived(at: 9)
        )
        #expect(filters.holds(1) && filters.count == 10 && filters.bytes == first)
        #expect(
            log.messages == [
                "the filter of dead tokens would take too much memory; Redis is asked for every token of the bundle"
            ]
        )
    }
}
