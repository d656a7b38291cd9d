import APNsProtocol
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport
import TestSupport
import Testing

@testable import BelfryRuntime

@Suite struct SenderDirectoryTests {
    /// Makes senders for bundles that begin with `known`, and notes what it was asked for.
    private final class Maker: GatewayLaneDelegate {
        private(set) var asked: [String] = []

        func make(_ index: Int32, _ environment: String, _ bundleID: String) throws -> TopicSender? {
            asked.append("\(index) \(environment) \(bundleID)")
            guard bundleID.hasPrefix("known") else { return nil }
            // Never started: no lane connects in these tests.
            let lanes = try (0..<2).map { number in
                GatewayLane(
                    sender: index,
                    number: number,
                    limits: LaneLimits(),
                    connector: GatewayConnector(
                        addresses: GatewayAddresses([], eventLoop: MultiThreadedEventLoopGroup.singleton.any()),
                        firstTurn: 0,
                        tls: try TLSContext(client: nil),
                        timeout: .seconds(1)
                    ),
                    random: { .random(in: .min ... .max) },
                    logger: Logger(label: "test"),
                    delegate: self
                )
            }
            return TopicSender(
                index: index,
                environment: environment,
                bundleID: bundleID,
                payloadLimitBytes: 256,
                tokenBytes: 32...32,
                spread: nil,
                coalescingWindow: .zero,
                tokenGuard: InvalidTokenGuard(share: 0.5, sample: 100),
                breaker: TopicBreaker(
                    probe: Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10)),
                    patience: .seconds(60),
                    refusedShare: 0.5,
                    sampleSize: 20
                ),
                lanes: [lanes[0]],
                probation: [lanes[1]]
            )
        }

        func lane(_ lane: GatewayLane, settled verdict: LaneVerdict) {}
        func laneMayConnect(now: MonotonicTime, sparing: Bool) -> MonotonicTime? { nil }
        func laneConnected(_ lane: GatewayLane) {}
        func laneDisconnected(_ lane: GatewayLane, reason: DisconnectReason) {}
        func lane(_ lane: GatewayLane, answered response: ErrorResponse) -> Bool { true }
        func laneSorts(_ lane: GatewayLane) {}
    }

    private let maker = Maker()

    private func find(
        _ key: String,
        _ environment: String,
        in directory: inout SenderDirectory
    ) throws -> SenderDirectory.Found {
        let key = Array(key.utf8)
        let name = Array(environment.utf8)
        return try key.withUnsafeBytes { key in
            try name.withUnsafeBytes { name in
                try directory.find(key: key, environment: name) { try? maker.make($0, $1, $2) }
            }
        }
    }

    private func fault(_ key: String, _ environment: String, in directory: inout SenderDirectory) -> RecordRefusal? {
        do {
            _ = try find(key, environment, in: &directory)
            return nil
        } catch {
            return error as? RecordRefusal
        }
    }

    @Test("Without a name the only environment is meant")
    func onlyOne() throws {
        var directory = SenderDirectory(environments: ["sandbox"])
        let sender = try find("known.a", "", in: &directory).sender
        #expect(sender.environment == "sandbox")
        #expect(sender.bundleID == "known.a")
        #expect(try find("known.a", "sandbox", in: &directory).sender === sender)
    }

    @Test("With several environments a request must name one, and the refusal lists them")
    func needed() throws {
        var directory = SenderDirectory(environments: ["production", "sandbox"])
        let fault = try #require(fault("known.a", "", in: &directory))
        #expect(fault.reason == "environment-needed")
        #expect(fault.detail.contains("production, sandbox"))
        #expect(maker.asked.isEmpty)
    }

    @Test("An environment that is not configured is refused by name, and the refusal lists the others")
    func unknown() throws {
        var directory = SenderDirectory(environments: ["production", "sandbox"])
        let fault = try #require(fault("known.a", "sandbo", in: &directory))
        #expect(fault.reason == "environment-unknown")
        #expect(fault.detail.contains("'sandbo'"))
        #expect(fault.detail.contains("production, sandbox"))
        #expect(maker.asked.isEmpty)
    }

    @Test("A bundle without certificate is refused by bundle and environment, and asked about again next time")
    func noCertificate() throws {
        var directory = SenderDirectory(environments: ["sandbox"])
        let fault = try #require(fault("other", "", in: &directory))
        #expect(fault.reason == "bundle-without-certificate")
        #expect(fault.detail.contains("other"))
        #expect(fault.detail.contains("sandbox"))
        #expect(self.fault("other", "", in: &directory)?.reason == "bundle-without-certificate")
        #expect(maker.asked == ["0 sandbox other", "0 sandbox other"])
        #expect(directory.senders.isEmpty)
    }

    @Test("Each bundle has one sender per environment, made once, found in any order")
    func madeOnce() throws {
        var directory = SenderDirectory(environments: ["production", "sandbox"])
        let names = [
            ("known.a", "sandbox"), ("known.b", "sandbox"), ("known.a", "production"), ("known.b", "production"),
        ]
        let made = try names.map { try find($0.0, $0.1, in: &directory).sender }
        #expect(made.map(\.index) == [0, 1, 2, 3])
        #expect(made.map(\.bundleID) == names.map(\.0))
        #expect(made.map(\.environment) == names.map(\.1))
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            let index = Int.random(in: 0..<4, using: &generator)
            #expect(try find(names[index].0, names[index].1, in: &directory).sender === made[index])
        }
        #expect(maker.asked.count == 4)
        #expect(directory.senders.indices.allSatisfy { directory.senders[$0] === made[$0] })
    }

    @Test("The memory of the last answer never takes one name for another that begins like it")
    func prefixes() throws {
        var directory = SenderDirectory(environments: ["sandbox", "sandbox-2"])
        _ = try find("known.a", "sandbox", in: &directory)
        #expect(try find("known.ab", "sandbox", in: &directory).sender.bundleID == "known.ab")
        #expect(try find("known.a", "sandbox", in: &directory).sender.bundleID == "known.a")
        #expect(try find("known.a", "sandbox-2", in: &directory).sender.environment == "sandbox-2")
        // An error in between does not disturb it.
        #expect(fault("other", "sandbox", in: &directory) != nil)
        #expect(try find("known.a", "sandbox", in: &directory).sender.environment == "sandbox")
    }

    @Test("The shard is the key's own, and every shard of a bundle has the same sender")
    func shards() throws {
        var directory = SenderDirectory(environments: ["sandbox"])
        let first = try find("known.a#3", "", in: &directory)
        let second = try find("known.a#12", "", in: &directory)
        let third = try find("known.a", "", in: &directory)
        #expect([first.shard, second.shard, third.shard] == [3, 12, nil])
        #expect(try find("known.a#3", "", in: &directory).shard == 3)
        #expect(second.sender === first.sender)
        #expect(third.sender === first.sender)
        #expect(maker.asked.count == 1)
    }

    @Test("A key that names no bundle is refused with the key's fault, also right after a good one")
    func badKeys() throws {
        var directory = SenderDirectory(environments: ["sandbox"])
        _ = try find("known.a", "", in: &directory)
        #expect(fault("", "", in: &directory)?.reason == "key-missing")
        #expect(fault("#1", "", in: &directory)?.reason == "key-without-bundle")
        #expect(fault("known.a#", "", in: &directory)?.reason == "shard-invalid")
        #expect(try find("known.a", "", in: &directory).sender.bundleID == "known.a")
    }
}
