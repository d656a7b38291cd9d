import BelfrySupport
import NIOCore
import NIOEmbedded
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import TokenState

@Suite("Sets of dead tokens")
struct DeadTokenSetsTests {
    private let eventLoop = EmbeddedEventLoop()
    private let reader = EmbeddedEventLoop()
    private let log = LogLines()

    private static let other = "com.example.other"
    private static let maxAge = Duration.seconds(30)

    private func sets(memoryBytes: Int = .max) -> DeadTokenSets {
        DeadTokenSets(
            maxAge: Self.maxAge,
            memoryBytes: memoryBytes,
            writer: eventLoop,
            readers: [reader],
            logger: log.logger
        ) { _, bundleID in [TokenStore.bundleID, Self.other].contains(bundleID) }
    }

    /// So many deaths of a bundle, each of another token.
    private func fill(_ sets: DeadTokenSets, _ count: Int, bundleID: String = TokenStore.bundleID) {
        for number in 0..<count {
            let token = withUnsafeBytes(of: number.littleEndian) { Array($0) }
            sets.merge(environment: TokenStore.environment, bundleID: bundleID, token: token, .dead(at: 1))
            // The tables that were replaced go when the readers have left them.
            reader.run()
            eventLoop.run()
        }
    }

    @Test("What is known is trusted up to the longest age, to the nanosecond, and not before everything is known")
    func age() {
        let sets = sets()
        let time = MonotonicTime(nanoseconds: 5_000_000_000)
        #expect(!sets.isComplete(now: time) && sets.completeSince == nil)
        sets.complete(asOf: time)
        #expect(sets.completeSince == time)
        #expect(sets.isComplete(now: time))
        #expect(sets.isComplete(now: time + Self.maxAge))
        #expect(!sets.isComplete(now: time + Self.maxAge + .nanoseconds(1)))
        sets.complete(asOf: time + .seconds(1))
        #expect(sets.isComplete(now: time + Self.maxAge + .nanoseconds(1)))
        sets.complete(asOf: nil)
        #expect(!sets.isComplete(now: time) && sets.completeSince == nil)
    }

    @Test(
        "Each bundle in each environment has its own; a removal is for all environments; foreign bundles are not kept"
    )
    func names() {
        let sets = sets()
        let token = [UInt8](repeating: 1, count: 32)
        for environment in ["sandbox", "production"] {
            sets.merge(environment: environment, bundleID: TokenStore.bundleID, token: token, .dead(at: 1))
        }
        sets.merge(environment: "sandbox", bundleID: "com.example.foreign", token: token, .dead(at: 1))
        #expect(sets.count == 2)
        #expect(sets.holds(1) && sets.holds(1, environment: "production"))
        #expect(!sets.holds(1, bundleID: Self.other))
        sets.merge(environment: "sandbox", bundleID: Self.other, token: token, .dead(at: 1))
        sets.forget(bundleID: TokenStore.bundleID, token: token)
        #expect(!sets.holds(1) && !sets.holds(1, environment: "production"))
        #expect(sets.holds(1, bundleID: Self.other))
    }

    @Test("The caller that notes a change hears of it when every reader finds it")
    func noting() {
        let sets = sets()
        var isNoted = false
        sets.noteChange(.death(1), .dead(at: 1), from: reader) { isNoted = true }
        reader.run()
        #expect(!isNoted && !sets.holds(1))
        eventLoop.run()
        #expect(!isNoted && sets.holds(1))
        reader.run()
        #expect(isNoted)
    }

    @Test("Its memory is that of its tables, and of those it grew out of for as long as a reader may be in them")
    func memory() {
        let sets = sets()
        fill(sets, 192)
        let first = DeadTokenSet.firstBytes
        #expect(sets.bytes == first)
        let token = [UInt8](repeating: 1, count: 32)
        sets.merge(environment: TokenStore.environment, bundleID: TokenStore.bundleID, token: token, .dead(at: 1))
        #expect(sets.bytes == 3 * first)
        eventLoop.run()
        #expect(sets.bytes == 3 * first, "a reader may still be inside")
        reader.run()
        eventLoop.run()
        #expect(sets.bytes == 2 * first)
        #expect(sets.count == 193)
    }

    @Test("A tombstone takes 11 to 22 bytes, and 32 while the set grows")
    func bytesEach() {
        let sets = sets()
        var (least, most, peak) = (Double.infinity, 0.0, 0.0)
        fill(sets, 10_000)
        for number in 10_000..<100_000 {
            let token = withUnsafeBytes(of: number.littleEndian) { Array($0) }
            sets.merge(
                environment: TokenStore.environment,
                bundleID: TokenStore.bundleID,
                token: token,
                .dead(at: 1)
            )
            peak = max(peak, Double(sets.bytes) / Double(sets.count))
            reader.run()
            eventLoop.run()
            most = max(most, Double(sets.bytes) / Double(sets.count))
            least = min(least, Double(sets.bytes) / Double(sets.count))
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

    @Test("A set that would take too much is given up, with one line: it holds every token, others go on")
    func givenUp() {
        let first = DeadTokenSet.firstBytes
        // It grows once, from one to two beside the other bundle's one, and not twice.
        let sets = sets(memoryBytes: 6 * first)
        fill(sets, 10, bundleID: Self.other)
        fill(sets, 384)
        #expect(sets.givenUp == 0 && log.messages.isEmpty && sets.count == 394)
        #expect(!sets.holds(1))
        fill(sets, 385)
        #expect(sets.givenUp == 1)
        #expect(sets.bytes == first && sets.count == 10, "its memory is free")
        #expect(sets.holds(1))
        #expect(!sets.holds(1, bundleID: Self.other))

        fill(sets, 400)
        sets.forget(bundleID: TokenStore.bundleID, token: Array(repeating: 1, count: 32))
        sets.merge(
            environment: TokenStore.environment,
            bundleID: TokenStore.bundleID,
            token: Array(repeating: 1, count: 32),
            .revived(at: 9)
        )
        #expect(sets.holds(1) && sets.count == 10 && sets.bytes == first)
        #expect(
            log.messages == [
                "the filter of dead tokens would take too much memory; Redis is asked for every token of the bundle"
            ]
        )
    }
}
