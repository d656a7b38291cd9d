import APNsProtocol
import BelfryProducer
import BelfrySupport
import Foundation
import PushSchemas
import SwiftProtobuf
import TestSupport
import Testing

@testable import BelfryTools

/// Files of tokens, and their way into records.
@Suite struct TokenFileTests {
    @Test("A file is checked, then gone through again, from any place on", arguments: TokenFormat.allCases)
    func regularFile(format: TokenFormat) throws {
        let tokens = tokens(30_000)
        try withFile(format == .packed ? Array(tokens.joined()) : lines(tokens)) { path in
            let file = try TokenFile(path: path, format, lengths: 32...100)
            var shares: [Double] = []
            try file.check { read, size in shares.append(Double(read) / Double(size ?? 0)) }
            #expect(file.faults.isEmpty && file.place.tokens == 30_000)
            #expect(shares.last == 1 && shares.count > 3 && shares == shares.sorted())
            var places: [TokenFilePlace] = []
            var found: [[UInt8]] = []
            try file.forEachToken(pieceBytes: 100_001, onPiece: { places.append($0) }, { found.append(Array($0)) })
            #expect(found == tokens)
            let middle = places[places.count / 2]
            var rest: [[UInt8]] = []
            try file.forEachToken(from: middle) { rest.append(Array($0)) }
            #expect(rest == Array(tokens[middle.tokens...]))
        }
    }

    @Test("What can be read only once is gone through again all the same")
    func pipe() throws {
        let tokens = tokens(20_000) + [[UInt8](repeating: 9, count: 77)]
        try withFile([]) { path in
            try FileManager.default.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
            let text = lines(tokens)
            Thread.detachNewThread { write(text, path) }
            let file = try TokenFile(path: path, .lines, lengths: 32...100)
            try file.check()
            #expect(file.identity == nil)
            for _ in 0..<2 {
                var found: [[UInt8]] = []
                try file.forEachToken { found.append(Array($0)) }
                #expect(found == tokens)
            }
        }
    }

    @Test("A file that changes between the two readings is refused")
    func change() throws {
        try withFile(lines(tokens(10))) { path in
            let file = try TokenFile(path: path, .lines, lengths: 32...100)
            try file.check()
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(lines(tokens(1))))
            try handle.close()
            #expect(throws: ToolError.refused("\(path): has changed while it was read")) {
                try file.forEachToken { _ in }
            }
        }
    }

    @Test("A directory, and a file that is not there, are named")
    func unreadable() {
        #expect(throws: ToolError.invalidInput(["/: is a directory"])) {
            try TokenFile(path: "/", .lines, lengths: 32...100)
        }
        #expect(throws: ToolError.invalidInput(["/no/such: cannot be read: No such file or directory"])) {
            try TokenFile(path: "/no/such", .lines, lengths: 32...100)
        }
    }

    @Test("The bytes of a record are those of Protobuf's own encoder, whatever the fields and the shards")
    func encoding() throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            var template = RequestBatcher.Template(
                bundleID: "a.b",
                requestID: random.chance(80) ? "r-\(random.pick(0...99))" : "",
                content: .payload(Array(#"{"aps":{"alert":"\#(random.pick(0...999))"}}"#.utf8))
            )
            if random.chance(50) { template.environment = "sandbox" }
            if random.chance(50) { template.expiration = UInt32(random.pick(0...4_000_000_000)) }
            if random.chance(50) { template.priority = 5 }
            if random.chance(50) { template.coalescingKey = "k" }
            if random.chance(50) { template.pushType = "alert" }
            if random.chance(50) { template.collapseID = "c" }
            if random.chance(50) { template.report = .summary }
            template.spread = UInt32(random.pick(1...4))
            template.tokensPerRecord = random.pick(1...600)
            let tokens = (0..<random.pick(1...900)).map { _ in random.bytes(32) }
            var batcher = try RequestBatcher(template)
            var found: [[UInt8]] = []
            func take(_ record: OutgoingRecord) throws {
                let request = try PushSendRequest(serializedBytes: record.value)
                #expect(record.value == (try request.serializedBytes()))
                #expect(request.packedTokens.count == record.tokenCount * 32)
                #expect(request.requestID == template.requestID && request.environment == template.environment)
                #expect(template.content == .payload(Array(request.payload)))
                #expect(request.hasExpiration == (template.expiration != nil))
                #expect(request.expiration == Int64(template.expiration ?? 0))
                #expect(request.hasPriority == (template.priority != nil))
                #expect(request.coalescingKey == template.coalescingKey && request.pushType == template.pushType)
                #expect(request.collapseID == template.collapseID)
                #expect(request.report == (template.report?.message ?? .unspecified))
                let packed = Array(request.packedTokens)
                found += stride(from: 0, to: packed.count, by: 32).map { Array(packed[$0..<$0 + 32]) }
            }
            for token in tokens { try token.withUnsafeBytes { try batcher.add($0, take) } }
            try batcher.flush(take)
            #expect(Set(found) == Set(tokens) && found.count == tokens.count)
        }
    }

    @Test("Records leave half full when too many tokens wait, so that memory does not depend on the spread")
    func manyShards() throws {
        var template = RequestBatcher.Template(bundleID: "a.b", requestID: "r", content: .payload(Array("{}".utf8)))
        template.spread = 1000
        template.tokensPerRecord = 500
        var batcher = try RequestBatcher(template, mostWaiting: 100)
        var (sent, records) = (0, 0)
        for (index, token) in tokens(1000).enumerated() {
            try token.withUnsafeBytes {
                try batcher.add($0) {
                    sent += $0.tokenCount
                    records += 1
                }
            }
            #expect(index + 1 - sent < 100)
        }
        #expect(sent == 1000 && records > 100)
    }

    private func tokens(_ count: Int) -> [[UInt8]] {
        var random = SeededGenerator(seed: UInt64(count))
        return (0..<count).map { _ in random.bytes(32) }
    }

    private func lines(_ tokens: [[UInt8]]) -> [UInt8] {
        tokens.flatMap { Array((Hex.encode($0) + "\n").utf8) }
    }

    private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "belfry-tokens-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }
}

/// Blocks until the pipe is read.
private func write(_ bytes: [UInt8], _ path: String) {
    FileHandle(forWritingAtPath: path)?.write(Data(bytes))
}
