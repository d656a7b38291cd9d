import APNsProtocol
import Foundation
import PipelineCore
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenState

/// The documented layout, tried out by another program. That is the reader in the README beside the code.
@Suite struct LayoutDocumentServerTests {
    private struct Found: Decodable, Equatable {
        var registered_at: UInt32
        var tombstoned_at: UInt32
    }

    @Test("The reader that the documentation shows finds every token, and what it says of it, in many buckets")
    func reader() async throws {
        let server = try RedisServerProcess()
        let store = try await TokenStore(port: server.port)
        var random = SeededGenerator(seed: 21)
        // Of few tags, so that they have many buckets.
        var tokens: [[UInt8]] = []
        while tokens.count < 1500 {
            let token = random.bytes(random.chance(10) ? 61 : 32)
            if TokenStore.layout.place(of: token).tag < 2 { tokens.append(token) }
        }
        let texts = TokenTexts(locale: "de", timeZone: "Europe/Berlin")
        var changes: [TokenChange] = []
        var expected: [Found?] = []
        for (index, token) in tokens.enumerated() {
            let at = UInt32(1000 + index)
            switch index % 4 {
            case 0:
                changes.append(.of(token, .register(at: at, texts)))
                expected.append(Found(registered_at: at, tombstoned_at: 0))
            case 1:
                changes += [.of(token, .register(at: at, texts)), .of(token, .tombstone(at: at + 7, .invalid))]
                expected.append(Found(registered_at: at, tombstoned_at: at + 7))
            case 2:
                // All that a record can have.
                changes += [
                    .of(token, .register(at: at, texts)),
                    .of(token, .describe(at: at + 3, TokenTexts(timeZone: "no/zone"))),
                    .of(token, .tombstone(at: at + 9, .feedback)),
                ]
                expected.append(Found(registered_at: at, tombstoned_at: at + 9))
            default:
                expected.append(nil)
            }
        }
        // A bucket is split with what was told of it, so not all at once.
        for start in stride(from: 0, to: changes.count, by: 100) {
            let part = Array(changes[start..<min(start + 100, changes.count)])
            for answer in try await store.make(part) { _ = try answer.get() }
        }
        let keys = TokenKeys(environment: TokenStore.environment, bundleID: TokenStore.bundleID)
        let directory = keys.directory(tag: 0)
        let buckets = Int(try await store.command(Array("GET".utf8), directory) ?? "") ?? 1
        #expect(buckets > 3)
        let answer = try run(port: server.port, tokens: tokens)
        #expect(try JSONDecoder().decode([Found?].self, from: answer) == expected)
        try await store.close()
    }

    @Test("The record that the documentation spells out is the one that is written")
    func example() async throws {
        try await withTokenStore { store async throws in
            let token = [UInt8](repeating: 1, count: 32)
            for answer in try await store.make([
                .of(token, .register(at: 1_000_000_000, TokenTexts())),
                .of(token, .tombstone(at: 1_000_000_001, .feedback)),
            ]) { _ = try answer.get() }
            let record = try #require(try await store.records([token])[0])
            let spelled = Hex.encode(record.bytes).uppercased()
            let words = [0..<2, 2..<10, 10..<18, 18..<20].map { range in
                String(Array(spelled)[range])
            }
            let text = try String(contentsOf: Self.readme, encoding: .utf8)
            #expect(text.contains("`\(words.joined(separator: " "))`"))
        }
    }

    @Test("The record for one kind of topic that the documentation spells out is the one that is written")
    func refusedKind() async throws {
        try await withTokenStore { store async throws in
            let token = [UInt8](repeating: 1, count: 32)
            for answer in try await store.make([
                .of(token, .register(at: 1_000_000_000, TokenTexts())),
                .of(token, .refuse(at: 1_000_000_001, TopicKind(rawValue: 2))),
            ]) { _ = try answer.get() }
            let record = try #require(try await store.records([token])[0])
            let spelled = Array(Hex.encode(record.bytes).uppercased())
            let words = [0..<2, 2..<10, 10..<12, 12..<20].map { String(spelled[$0]) }
            let text = try String(contentsOf: Self.readme, encoding: .utf8)
            #expect(text.contains("`\(words.joined(separator: " "))`"))
            for type in PushType.allCases where !type.topicSuffix.isEmpty {
                #expect(text.contains("\(type.topicKind.rawValue) `\(type.topicSuffix)`"))
            }
        }
    }

    @Test("The hash and the buckets of the documentation's example are those of the code")
    func buckets() {
        #expect(TokenBuckets.index(hash: 13, count: 6) == 5)
        #expect(TokenBuckets.index(hash: 14, count: 6) == 2)
        #expect(TokenBuckets.nextSplit(count: 6) == 2)
        #expect(TokenBuckets.index(hash: 14, count: 7) == 6)
        #expect(TokenBuckets.splitAbove == 112)
    }

    @Test("The bytes of a badge's key that the documentation spells out are those of the code")
    func badgeKey() throws {
        let fingerprint = [UInt8](unsafeUninitializedCapacity: RequestFingerprint.bytes) { room, count in
            [UInt8](0..<32).withUnsafeBytes {
                RequestFingerprint(token: $0, key: RequestFingerprint.tokenKey)
                    .write(into: UnsafeMutableRawBufferPointer(room))
            }
            count = RequestFingerprint.bytes
        }
        let spelled = fingerprint.map { Hex.encode([$0]).uppercased() }.joined(separator: " ")
        #expect(try String(contentsOf: Self.readme, encoding: .utf8).contains("`\(spelled)`"))
    }

    private static let readme = Repository.top.appending(path: "Sources/TokenState/README.md")

    private func run(port: Int, tokens: [[UInt8]]) throws -> Data {
        let python = try #require(ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"])
        let process = try ChildProcess(
            "token_reader.py",
            executable: python,
            arguments: [
                Repository.top.appending(path: "Tests/Foreign/token_reader.py").path, Self.readme.path, "\(port)",
                TokenStore.environment, TokenStore.bundleID,
            ],
            takesInput: true
        )
        try process.tell(tokens.map { Hex.encode($0) }.joined(separator: "\n"))
        process.closeInput()
        let output = process.outputToEnd()
        #expect(process.wait() == 0)
        return Data(output.utf8)
    }
}
