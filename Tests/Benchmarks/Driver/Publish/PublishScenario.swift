import BenchmarkCommon
import Foundation
import Workbench

/// Scenario `publish`: `belfry publish` of a file of tokens, as lines and packed, and a bare loop of rd_kafka_produce
/// over ready records, one after the other in every round, to the same broker.
///
/// The broker is the embedded one, in a process of its own. It acknowledges every record and keeps the last 5 MiB of
/// each partition, which is all that nobody's reading asks for: its memory does not grow, and it takes less of the
/// machine than a broker that writes everything to a disk.
struct PublishScenario {
    private enum Setting {
        static let requests = "push.requests"
        /// Keys of the bundle: many more than partitions, so that these are filled evenly.
        static let spread = 128
        /// The default of `belfry publish`.
        static let tokensPerRecord = 500
        static let limitMilliseconds: Int32 = 600_000
    }

    private let servers: Servers
    private let brokers: String
    private let tokens: Int
    private let records: Int

    /// - Parameters:
    ///   - tokens: in each file.
    ///   - records: that the loop publishes, of one token each.
    init(servers: Servers, brokers: String, tokens: Int, records: Int) throws {
        self.servers = servers
        self.brokers = brokers
        self.tokens = tokens
        self.records = records
        say("writing \(tokens) tokens, as lines and packed")
        let files = [TokenFileWriter.Form.lines, .packed].map { (form: $0, file: servers.workspace.file($0.rawValue)) }
        for (form, file) in files { try TokenFileWriter(form: form).write(tokens, to: file) }
        let payload = try RequestRecords.payload(0)
        try payload.write(to: servers.workspace.file("payload.json"))
    }

    /// Measures, and reports.
    ///
    /// - Parameter languages: a report of the other scenario, for the same line.
    func run(rounds: Int, _ languages: LanguagesReport) throws -> PublishReport {
        var report = PublishReport(tokens: tokens, languages: languages)
        for round in 0..<rounds {
            var steps = [measureLines, measurePacked, measureLoop, measureBatchedLoop]
            if !round.isMultiple(of: 2) { steps.reverse() }
            for step in steps { try step(round, &report) }
        }
        return report
    }

    private func measureLines(_ round: Int, into report: inout PublishReport) throws {
        report.lines.add(try publish(.lines, round), tokens: tokens)
    }

    private func measurePacked(_ round: Int, into report: inout PublishReport) throws {
        report.packed.add(try publish(.packed, round), tokens: tokens)
    }

    private func measureLoop(_ round: Int, into report: inout PublishReport) throws {
        report.loop.add(try loop(records, tokensPerRecord: 1, round), tokens: records)
    }

    private func measureBatchedLoop(_ round: Int, into report: inout PublishReport) throws {
        let count = max(1, tokens / Setting.tokensPerRecord)
        let run = try loop(count, tokensPerRecord: Setting.tokensPerRecord, round)
        report.batchedLoop.add(run, tokens: count * Setting.tokensPerRecord)
    }

    /// A whole process: its start, both readings of the file, and the end of the last acknowledgement are in it.
    private func publish(_ form: TokenFileWriter.Form, _ round: Int) throws -> PublisherRun {
        let child = try servers.start(
            "publish-\(form.rawValue)",
            program: servers.programs.load,
            arguments: [
                "measure", servers.programs.belfry, "publish", "--json", "--brokers", brokers,
                "--app", BenchmarkApp.bundle, "--spread", "\(Setting.spread)",
                "--payload-file", servers.workspace.file("payload.json").path,
                "--token-file", servers.workspace.file(form.rawValue).path, "--token-format", form.rawValue,
            ]
        )
        let published = try Self.decode(Published.self, child.line(within: Setting.limitMilliseconds))
        let measured = try Self.decode(Measured.self, child.line(within: Setting.limitMilliseconds))
        try child.awaitSuccess()
        guard published.tokens == tokens else {
            throw BenchmarkError("belfry publish: \(published.tokens) of \(tokens) tokens are published")
        }
        tell(round, "belfry publish, \(form.rawValue)", measured, tokens)
        return PublisherRun(
            seconds: measured.seconds,
            cpuMicroseconds: measured.cpuMicroseconds,
            peakMiB: Double(measured.peakKibibytes ?? 0) / 1024
        )
    }

    /// From the first record to the last acknowledgement: to make the records ready, and to start, is not in it.
    private func loop(_ count: Int, tokensPerRecord: Int, _ round: Int) throws -> PublisherRun {
        let child = try servers.start(
            "loop",
            program: servers.programs.load,
            arguments: [
                "loop", "--brokers", brokers, "--topic", Setting.requests, "--bundle", BenchmarkApp.bundle,
                "--spread", "\(Setting.spread)", "--records", "\(count)", "--tokens-per-record", "\(tokensPerRecord)",
            ]
        )
        let measured = try Self.decode(Measured.self, child.line(within: Setting.limitMilliseconds))
        try child.awaitSuccess()
        tell(round, "bare loop, \(tokensPerRecord) a record", measured, count * tokensPerRecord)
        return PublisherRun(seconds: measured.seconds, cpuMicroseconds: measured.cpuMicroseconds)
    }

    private func tell(_ round: Int, _ name: String, _ measured: Measured, _ tokens: Int) {
        let nanoseconds = Int(measured.cpuMicroseconds * 1e3 / Double(tokens))
        say("round \(round + 1): \(name): \(Int(Double(tokens) / measured.seconds))/s, \(nanoseconds) ns of CPU each")
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ line: String) throws -> Value {
        guard let value = try? JSONDecoder().decode(type, from: Data(line.utf8)) else {
            throw BenchmarkError("publisher: not the line expected: \(line)")
        }
        return value
    }

    private struct Published: Decodable {
        let tokens: Int
    }

    private struct Measured: Decodable {
        let seconds: Double
        let cpuMicroseconds: Double
        let peakKibibytes: Int?

        enum CodingKeys: String, CodingKey {
            case seconds
            case cpuMicroseconds = "cpu_us"
            case peakKibibytes = "peak_kib"
        }
    }
}

/// Writes files of tokens that look random, in pieces.
struct TokenFileWriter {
    /// The names are those that `belfry publish --token-format` knows.
    enum Form: String {
        case lines
        case packed
    }

    let form: Form

    private static let tokensAtOnce = 10_000
    private static let digits = Array("0123456789abcdef".utf8)

    func write(_ count: Int, to file: URL) throws {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        for first in stride(from: 0, to: count, by: Self.tokensAtOnce) {
            try handle.write(contentsOf: Data(bytes(first..<min(first + Self.tokensAtOnce, count))))
        }
        try handle.close()
    }

    /// The bytes of the tokens with these numbers.
    func bytes(_ numbers: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(numbers.count * (2 * Int(BENCH_TOKEN_BYTES) + 1))
        var token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
        for number in numbers {
            bench_token(UInt64(number), &token)
            switch form {
            case .packed: bytes += token
            case .lines:
                for byte in token {
                    bytes.append(Self.digits[Int(byte >> 4)])
                    bytes.append(Self.digits[Int(byte & 15)])
                }
                bytes.append(10)
            }
        }
        return bytes
    }
}
