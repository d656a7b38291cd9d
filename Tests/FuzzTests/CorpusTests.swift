import Foundation
import Testing

@testable import belfry_fuzz

/// Runs the seeds and findings of fuzzing again, as built for use.
struct CorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fuzz/Corpus").standardizedFileURL

    private func inputs(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let directory = Self.corpus.appending(path: target.rawValue)
        return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
            .map { ($0.lastPathComponent, [UInt8](try Data(contentsOf: $0))) }
    }

    @Test("No input of the corpus breaks what must hold", arguments: FuzzTarget.allCases)
    func replay(target: FuzzTarget) throws {
        let inputs = try inputs(of: target)
        #expect(inputs.count >= Seeds.all(of: target).count)
        for (name, bytes) in inputs {
            #expect(throws: Never.self, "\(name)") { try bytes.withUnsafeBytes { try target.run($0) } }
        }
    }

    @Test("Every seed is in the corpus as `belfry-fuzz seeds` writes it", arguments: FuzzTarget.allCases)
    func seeds(target: FuzzTarget) throws {
        let inputs = Dictionary(uniqueKeysWithValues: try inputs(of: target).map { ($0.name, $0.bytes) })
        for seed in Seeds.all(of: target) {
            #expect(inputs[seed.name] == seed.bytes, "\(seed.name)")
        }
    }

    @Test(
        "Stand-ins for tokens and the channels of the service open the way to what is behind them",
        arguments: [
            ("request", 1), ("no-certificate", 0), ("provider-token", 1), ("provider-token-location", 0),
            ("provider-token-streams", 1), ("broadcast", 1), ("broadcast-stored", 1), ("broadcast-not-stored", 0),
            ("broadcast-bare", 0), ("channel-read", 1), ("channels-listed", 1), ("channels-of-others", 0),
        ]
    )
    func accepted(name: String, count: Int) throws {
        let seed = try #require(Seeds.all(of: .api).first { $0.name == "seed-\(name)" })
        let said = try seed.bytes.withUnsafeBytes { try APIFuzz(FuzzInput($0)).talk() }
        #expect(Self.successes(said[...]) == count)
    }

    /// Answers whose first field is `:status` 200 (RFC 7541, Appendix A).
    private static func successes(_ said: ArraySlice<UInt8>) -> Int {
        var (rest, count) = (said, 0)
        while rest.count >= 9 {
            let (head, payloadBytes) = (Array(rest.prefix(9)), rest.prefix(3).reduce(0) { $0 << 8 | Int($1) })
            rest = rest.dropFirst(9)
            if head[3] == 1, rest.first == 0x88 { count += 1 }
            rest = rest.dropFirst(payloadBytes)
        }
        return count
    }

    @Test(
        "No beginning of a seed, and no seed with one byte gone, breaks what must hold",
        arguments: FuzzTarget.allCases
    )
    func mutilatedSeeds(target: FuzzTarget) {
        for seed in Seeds.all(of: target) where seed.bytes.count < 400 {
            for index in seed.bytes.indices {
                var shorter = seed.bytes
                shorter.remove(at: index)
                for bytes in [Array(seed.bytes[..<index]), shorter] {
                    #expect(throws: Never.self, "\(seed.name) \(index)") {
                        try bytes.withUnsafeBytes { try target.run($0) }
                    }
                }
            }
        }
    }
}
