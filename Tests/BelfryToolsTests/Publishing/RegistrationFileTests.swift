import APNsProtocol
import BelfrySupport
import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import TestSupport
import Testing

@testable import BelfryTools
@testable import PipelineTestSupport

@Suite struct LineStreamTests {
    @Test("Lines come whole, however long and wherever a piece of the file ends; each offset is where the next begins")
    func lines() throws {
        var random = SeededGenerator(seed: 3)
        var lines: [[UInt8]] = (0..<20_000).map { _ in
            (0..<random.pick(0...80)).map { _ in UInt8(random.pick(32...126)) }
        }
        lines[77] = [UInt8](repeating: 65, count: 700_000)
        for endsWithNewline in [true, false] {
            let path = NSTemporaryDirectory() + "belfry-lines-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            var bytes = lines.joined(separator: [10]).map { $0 }
            if endsWithNewline { bytes.append(10) } else { bytes += [66] }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            var stream = try LineStream(path: path)
            #expect(stream.size == Int64(bytes.count))
            var found: [[UInt8]] = []
            var middle: Int64 = 0
            while try stream.next({ found.append(Array($0)) }) {
                if found.count == 12_345 { middle = stream.offset }
            }
            var expected = lines.map { Array($0.prefix(LineStream.limitBytes)) }
            if !endsWithNewline { expected[expected.count - 1].append(66) }
            // A file that ends with an empty line's end has no further line.
            #expect(found == expected)
            #expect(stream.offset == Int64(bytes.count))
            try stream.seek(to: middle)
            var rest: [[UInt8]] = []
            while try stream.next({ rest.append(Array($0)) }) {}
            #expect(rest == Array(expected[12_345...]))
        }
    }

    @Test("What is no regular file is refused")
    func directory() {
        #expect(throws: ToolError.self) { _ = try LineStream(path: "/") }
        #expect(throws: ToolError.self) { _ = try LineStream(path: "/no/such/file") }
    }
}

/// Files on their way into the embedded broker.
@Suite struct RegistrationFileTests {
    private struct Killed: Error {}

    @Test("Cut off at any checkpoint and started again, every token is published at least once, and few twice")
    func resumption() throws {
        try withFile(tokens: 90_000) { path, tokens, settings in
            var runs = 0
            var firstLines: [Int] = []
            while true {
                runs += 1
                var file = RegistrationFile(path: path, order: Self.order)
                if runs < 4 { file.onCheckpoint = { _ in throw Killed() } }
                do {
                    let report = try file.publish(through: settings)
                    #expect(report.tokens == 90_000)
                    firstLines.append(report.firstLine)
                    break
                } catch is Killed {
                    #expect(FileManager.default.fileExists(atPath: RegistrationCheckpoint.path(of: path)))
                }
            }
            #expect(runs <= 4)
            #expect(try #require(firstLines.first) > 20_000)
            #expect(!FileManager.default.fileExists(atPath: RegistrationCheckpoint.path(of: path)))
            let found = try Self.published(settings, atLeast: 90_000)
            #expect(Set(found) == Set(tokens))
        }
    }

    @Test("A file that changed, and another order, is begun anew; so is any with --restart")
    func otherFile() throws {
        try withFile(tokens: 30_000) { path, _, settings throws in
            var checkpoint = RegistrationCheckpoint(
                source: .init(size: 1, modifiedAt: 1, beginning: 1, order: ""),
                offset: 65 * 100,
                lines: 100,
                tokens: 100,
                faults: 0
            )
            func firstLine(
                _ change: (inout RegistrationCheckpoint.Source) -> Void,
                restarts: Bool = false
            ) throws -> Int {
                let lines = try LineStream(path: path)
                let template = try Self.order.template()
                checkpoint.source = RegistrationFile(path: path, order: Self.order)
                    .source(of: lines, template, settings)
                change(&checkpoint.source)
                try checkpoint.write(beside: path)
                var file = RegistrationFile(path: path, order: Self.order)
                file.restarts = restarts
                return try file.publish(through: settings).firstLine
            }
            #expect(try firstLine { _ in } == 101)
            #expect(try firstLine({ _ in }, restarts: true) == 1)
            #expect(try firstLine { $0.size += 1 } == 1)
            #expect(try firstLine { $0.modifiedAt += 1 } == 1)
            #expect(try firstLine { $0.beginning ^= 1 } == 1)
            #expect(try firstLine { $0.order += "x" } == 1)

            func order(_ order: RegistrationOrder, _ settings: KafkaSettings) throws -> String {
                let lines = try LineStream(path: path)
                let template = try order.template()
                return RegistrationFile(path: path, order: order).source(of: lines, template, settings).order
            }
            var elsewhere = settings
            elsewhere.brokers = "elsewhere:9092"
            var longer = Self.order
            longer.tokenLimitBytes += 1
            let same = try order(Self.order, settings)
            #expect(try order(Self.order, elsewhere) != same)
            #expect(try order(longer, settings) != same)
        }
    }

    @Test("Bad lines are told with their number, counted, and passed over; strictly, the first is the end")
    func badLines() throws {
        try withFile(tokens: 3, extra: ["zz", "# fine", "0a"]) { path, tokens, settings in
            var faults: [String] = []
            var file = RegistrationFile(path: path, order: Self.order)
            file.onFault = { faults.append($0) }
            let report = try file.publish(through: settings)
            #expect(report.tokens == 3)
            #expect(report.faults == 2)
            #expect(faults.count == 2)
            #expect(faults.first?.hasPrefix("\(path):4: the token is not hexadecimal") == true)
            #expect(faults.last?.hasPrefix("\(path):6: the token has 1 byte;") == true)
            #expect(Set(try Self.published(settings, atLeast: 3)) == Set(tokens))
            file.isStrict = true
            #expect {
                try file.publish(through: settings)
            } throws: { error in
                "\(error)".contains(":4: ")
            }
        }
    }

    @Test("What a line leaves open is the command's")
    func fields() throws {
        let hex = String(repeating: "ab", count: 32)
        try withFile(tokens: 0, extra: ["\(hex),1700000001,de,Europe/Berlin", hex]) { path, _, settings in
            _ = try RegistrationFile(path: path, order: Self.order).publish(through: settings)
            var found: [PushRegistration] = []
            try Self.read(settings, atLeast: 2) { found.append($0) }
            found.sort { $0.registeredAt > $1.registeredAt }
            #expect(found.map(\.registeredAt) == [1_700_000_001, 1_600_000_000])
            #expect(found.map(\.locale) == ["de", "pt"])
            #expect(found.map(\.timeZone) == ["Europe/Berlin", "UTC"])
        }
    }

    @Test("A header is obeyed, behind a byte order mark and comments, also by a run that resumes")
    func header() throws {
        let hex = String(repeating: "ab", count: 28)
        let head = "\u{FEFF}# exported\r\n\r\nlocale,token\r\n"
        let rows = (0..<300).map { "l\($0 % 7),\(hex)\(10_000_000 + $0)\r\n" }
        try withFile(tokens: 0) { path, _, settings in
            try (head + rows.joined()).write(toFile: path, atomically: true, encoding: .utf8)
            let file = RegistrationFile(path: path, order: Self.order)
            let checkpoint = RegistrationCheckpoint(
                source: file.source(of: try LineStream(path: path), try Self.order.template(), settings),
                offset: Int64((head + rows[..<100].joined()).utf8.count),
                lines: 103,
                tokens: 100,
                faults: 0
            )
            try checkpoint.write(beside: path)
            let report = try file.publish(through: settings)
            #expect(report == RegistrationFileReport(topic: report.topic, tokens: 300, firstLine: 104))
            #expect(try file.publish(through: settings).firstLine == 1)
            var locales: [String] = []
            try Self.read(settings, atLeast: 500) { locales.append($0.locale) }
            #expect(locales.count == 500)
            #expect(Set(locales) == Set((0..<7).map { "l\($0)" }))
        }
    }

    @Test("A header that cannot be obeyed is told with its line before anything is published")
    func wrongHeader() throws {
        try withFile(tokens: 0, extra: ["# export", "token,colour"]) { path, _, _ in
            var nowhere = KafkaSettings()
            nowhere.brokers = "127.0.0.1:1"
            let message = "\(path):2: the header names \"colour\"; allowed: token, registered at, locale, time zone"
            #expect(throws: ToolError.invalidInput([message])) {
                try RegistrationFile(path: path, order: Self.order).publish(through: nowhere)
            }
        }
    }

    @Test("A run that begins behind a header has not resumed")
    func notResumed() throws {
        let hex = String(repeating: "ab", count: 32)
        try withFile(tokens: 0, extra: ["token", hex]) { path, _, settings in
            let report = try RegistrationFile(path: path, order: Self.order).publish(through: settings)
            #expect(report.firstLine == 1)
            #expect(report.tokens == 1)
        }
    }

    @Test("A command that is cut off says how to go on, and not to begin anew again")
    func resumptionText() {
        #expect(RegistrationFile.resumption(restarts: false) == "the same command goes on where this one stopped")
        #expect(
            RegistrationFile.resumption(restarts: true)
                == "the same command without --restart goes on where this one stopped"
        )
    }

    // MARK: Helpers

    private static let order: RegistrationOrder = {
        var order = RegistrationOrder(bundleID: "com.example.news", tokens: .listed([]))
        order.registeredAt = 1_600_000_000
        order.locale = "pt"
        order.timeZone = "UTC"
        order.spread = 8
        return order
    }()

    private func withFile(
        tokens count: Int,
        extra: [String] = [],
        _ body: (String, [[UInt8]], KafkaSettings) throws -> Void
    ) throws {
        var random = SeededGenerator(seed: 5)
        let tokens = (0..<count).map { _ in random.bytes(32) }
        let path = NSTemporaryDirectory() + "belfry-register-\(UUID().uuidString)"
        defer {
            try? FileManager.default.removeItem(atPath: path)
            RegistrationCheckpoint.remove(beside: path)
        }
        let text = (tokens.map { Hex.encode($0) } + extra).joined(separator: "\n") + "\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let broker = try EmbeddedBroker(topics: [(name: "push.registrations", partitions: 8)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        try body(path, tokens, settings)
    }

    private static func published(_ settings: KafkaSettings, atLeast count: Int) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        try read(settings, atLeast: count) { found.append(try $0.token.bytes()) }
        return found
    }

    /// Reads everything that is there.
    private static func read(
        _ settings: KafkaSettings,
        atLeast count: Int,
        _ body: (PushRegistration) throws -> Void
    ) throws {
        var found = 0
        for batch in try contents(of: "push.registrations", brokers: settings.brokers) {
            for index in 0..<batch.count {
                try body(RequestDecoding.decode(PushRegistration.self, from: batch[index].value, as: .protobuf))
            }
            found += batch.count
        }
        #expect(found >= count)
    }
}
