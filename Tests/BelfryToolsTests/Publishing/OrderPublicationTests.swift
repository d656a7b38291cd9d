import APNsProtocol
import BelfrySupport
import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import RequestLanes
import SwiftProtobuf
import TestSupport
import Testing

@testable import BelfryTools
@testable import PipelineTestSupport

/// Publications of files into the embedded broker.
@Suite struct OrderPublicationTests {
    private struct Killed: Error {}

    @Test("Cut off behind a checkpoint and started again it goes on there, as the same request; nothing is left out")
    func resumption() throws {
        try withFile(tokens: 20_000) { path, tokens, settings in
            let checkpoint = path + ".checkpoint"
            defer { PublishCheckpoint.remove(checkpoint) }
            var first = OrderPublication(order(.file(path, .lines), requestID: "first"))
            first.checkpoint = checkpoint
            first.checkpointInterval = .zero
            // Slow enough that records are acknowledged meanwhile.
            first.rate = 20_000
            first.onCheckpoint = { _ in throw Killed() }
            #expect(throws: Killed.self) { try first.run(through: settings) }
            var second = OrderPublication(order(.file(path, .lines), requestID: "second"))
            second.checkpoint = checkpoint
            let report = try second.run(through: settings).report
            #expect(report.requestID == "first")
            #expect((1..<20_000).contains(report.earlierTokens))
            #expect(report.tokens == 20_000)
            #expect(!FileManager.default.fileExists(atPath: checkpoint))
            let published = try published(settings)
            #expect(Set(published.flatMap(\.tokens)) == Set(tokens))
            #expect(published.allSatisfy { $0.requestID == "first" })
            #expect(published.reduce(0) { $0 + $1.tokens.count } < 40_000, "not all again")
        }
    }

    @Test("A checkpoint stands before the first record leaves, with the request's id and expiration")
    func beginning() throws {
        try withFile(tokens: 3) { path, _, settings throws in
            let checkpoint = path + ".checkpoint"
            defer { PublishCheckpoint.remove(checkpoint) }
            var order = order(.file(path, .lines), requestID: "first")
            order.expiration = 7
            var publication = OrderPublication(order)
            publication.checkpoint = checkpoint
            publication.onProgress = { _ in
                let data = FileManager.default.contents(atPath: checkpoint) ?? Data()
                let found = try? JSONDecoder().decode(PublishCheckpoint.self, from: data)
                #expect(found?.requestID == "first" && found?.expiration == 7 && found?.place == TokenFilePlace())
            }
            #expect(try publication.run(through: settings).report.tokens == 3)
            #expect(!FileManager.default.fileExists(atPath: checkpoint))
        }
    }

    @Test("A checkpoint of another file, another order or lane, or that is none is refused, and stays")
    func foreignCheckpoints() throws {
        try withFile(tokens: 3) { path, _, settings in
            let checkpoint = path + ".checkpoint"
            defer { PublishCheckpoint.remove(checkpoint) }
            func refusal(_ change: (inout OrderPublication) -> Void = { _ in }) -> String {
                var publication = OrderPublication(order(.file(path, .lines), requestID: "r"))
                publication.checkpoint = checkpoint
                change(&publication)
                do {
                    _ = try publication.run(through: settings)
                    return ""
                } catch {
                    guard case ToolError.refused(let words) = error else { return "\(error)" }
                    return words.replacing(checkpoint, with: "C")
                }
            }
            let lines = try #require(FileManager.default.contents(atPath: path))
            let identity = try #require(try TokenFile(path: path, .lines, lengths: 32...100).identity)
            let template = try order(.listed([Hex.encode([UInt8](repeating: 1, count: 32))]), requestID: "r").checked()
                .template
            let text = PublishCheckpoint.text(of: template, .lines, fixed: "", brokers: settings.brokers)
            let source = PublishCheckpoint.Source(file: identity, order: text)
            let begun = PublishCheckpoint(source: source, requestID: "earlier")
            try begun.write(checkpoint)
            let otherOrder = "C: is the checkpoint of a publication with another payload, other options or brokers"
            #expect(refusal { $0.order.content = .payload(Array(#"{"aps":{"badge":1}}"#.utf8)) }.hasPrefix(otherOrder))
            #expect(refusal { $0.typed = "30s" }.hasPrefix(otherOrder))
            #expect(refusal { $0.order.lane = .bulk }.hasPrefix("\(otherOrder), or into another lane, which was "))
            try (lines + lines).write(to: URL(fileURLWithPath: path))
            #expect(refusal().hasPrefix("C: is the checkpoint of another file of tokens"))
            #expect(try PublishCheckpoint.read(checkpoint, of: source) == begun)
            try Data("{}".utf8).write(to: URL(fileURLWithPath: checkpoint))
            #expect(refusal() == "C: is no checkpoint of publish; name another file")
            #expect(FileManager.default.contents(atPath: checkpoint) == Data("{}".utf8))
            #expect(try published(settings).isEmpty)
        }
    }

    @Test("Tokens that cannot be read again have no checkpoint")
    func noFile() {
        var publication = OrderPublication(
            order(.listed([Hex.encode([UInt8](repeating: 1, count: 32))]), requestID: "r")
        )
        publication.checkpoint = "/no/such"
        #expect(throws: ToolError.invalidInput(["checkpoint: only a regular file of tokens can be gone on with"])) {
            try publication.run(through: KafkaSettings())
        }
    }

    @Test("Long tokens are published in smaller records where as many as were asked for would not fit")
    func longTokens() throws {
        try withFile(tokens: 1) { _, _, settings in
            let tokens = (0..<10_000).map { number in
                Hex.encode(withUnsafeBytes(of: UInt32(number)) { Array($0) } + [UInt8](repeating: 1, count: 96))
            }
            var order = order(.listed(tokens), requestID: "r")
            order.tokensPerRecord = 10_000
            order.format = .json
            let forecast = try OrderPublication(order).forecast(through: settings)
            let report = try OrderPublication(order).run(through: settings).report
            #expect(report.tokens == 10_000 && report.records == 3 && forecast.records == 3)
        }
    }

    @Test("A dry run publishes nothing, and foretells records, bytes and partitions of a run")
    func forecast() throws {
        try withFile(tokens: 5000) { path, _, settings in
            var order = order(.file(path, .lines), requestID: "r")
            order.spread = 40
            let publication = OrderPublication(order)
            let forecast = try publication.forecast(through: settings)
            #expect(try published(settings).isEmpty)
            #expect(forecast.faults.isEmpty && forecast.tokens == 5000)
            #expect(try publication.run(through: settings).report.records == forecast.records)
            var found = [Int](repeating: 0, count: forecast.partitions.count)
            var bytes = 0
            for record in try published(settings) {
                found[Int(record.partition)] += record.tokens.count
                bytes += record.bytes
            }
            #expect(forecast.partitions == found)
            #expect(forecast.bytes == bytes)
        }
    }

    @Test("A dry run names the lane's Kafka topic, also one that is missing, with the command that makes it")
    func forecastOfLanes() throws {
        try withFile(tokens: 3) { path, _, settings in
            var publication = OrderPublication(order(.file(path, .lines), requestID: "r"))
            publication.order.lane = .urgent
            let forecast = try publication.forecast(through: settings)
            #expect(forecast.topic == "push.requests.urgent" && forecast.partitions.reduce(0, +) == 3)
            #expect(forecast.text.hasPrefix("dry run: 3 tokens in 1 record, "))
            #expect(forecast.text.contains(" for push.requests.urgent; nothing was published"))
            var elsewhere = settings
            elsewhere.prefix = "x."
            let missing = try publication.forecast(through: elsewhere)
            let reason = try #require(missing.partitionsUnknown)
            #expect(reason.contains("x.push.requests.urgent") && reason.contains("belfry topics create"))
        }
    }

    @Test("A dry run tells all mistakes, in the order and in the lines, and counts what is good of these")
    func forecastOfMistakes() throws {
        try withFile(tokens: 3, extra: "zz\n") { path, _, settings in
            var publication = OrderPublication(order(.file(path, .lines), requestID: "r"))
            let line = "\(path):4: the token is not hexadecimal: byte 0 is not one of 0-9, a-f, A-F"
            let forecast = try publication.forecast(through: settings)
            #expect(forecast.faults == [line] && forecast.tokens == 3 && forecast.records == 1)
            publication.order.tokensPerRecord = 0
            let both = try publication.forecast(through: settings)
            #expect(both.faults == ["tokens per record: found 0; allowed: 1...10000", line] && both.tokens == 0)
            #expect(throws: ToolError.invalidInput(both.faults)) { try publication.run(through: settings) }
            #expect(try published(settings).isEmpty)
        }
    }

    @Test("A dry run judges the records themselves, and tells of them what a run would")
    func forecastOfWrongRecords() throws {
        try withFile(tokens: 1000) { path, _, settings in
            var order = order(.file(path, .lines), requestID: "r")
            // Short enough for a record in the binary form, and too long in JSON, where each quote takes two bytes.
            order.content = .notification(
                .with {
                    $0.alert.body = String(repeating: "\"", count: 600_000)
                    $0.shorten = true
                }
            )
            #expect(try OrderPublication(order).forecast(through: settings).faults.isEmpty)
            order.format = .json
            let faults = try OrderPublication(order).forecast(through: settings).faults
            #expect(faults.count == 1 && faults.allSatisfy { $0.hasPrefix("value-too-large: ") }, "\(faults)")
            #expect(throws: ToolError.invalidInput(faults)) { try OrderPublication(order).run(through: settings) }
            #expect(try published(settings).isEmpty)
        }
    }

    @Test(
        "Outcomes from before, and of others, are not waited for; each token of the publication is, once",
        arguments: RequestLane.allCases
    )
    func wait(lane: RequestLane) throws {
        try withFile(tokens: 1200) { path, _, settings in
            try tell([outcome(0, 0, 0, "r")], settings)
            var publication = OrderPublication(order(.file(path, .lines), requestID: "r"))
            publication.order.lane = lane
            publication.awaitsOutcomes = true
            let completion = try publication.run(through: settings)
            let topic = completion.report.topic
            #expect(topic == TopicNames().requests(lane))
            let wait = try #require(completion.wait)
            defer { wait.close() }
            #expect(wait.wait(isStopped: { true }).missing == 1200)
            let records = try published(settings, in: topic)
            #expect(records.count == 3)
            var outcomes: [PushOutcome] = []
            for record in records {
                outcomes += record.tokens.indices.map { outcome(record.partition, record.offset, $0, "r", of: topic) }
            }
            // The places are the same in other lanes.
            let others = outcomes.map { own in
                PushOutcome.with {
                    $0 = own
                    $0.sourceTopic = "other.\(topic)"
                }
            }
            outcomes[17].kind = .rejected
            outcomes[17].status = 8
            let early = [outcome(0, 999, 0, "r", of: topic)] + others
            try tell(early + outcomes + outcomes.prefix(100), settings)
            var progress: [Int] = []
            let result = wait.wait(
                isStopped: { false },
                onProgress: { done, total in
                    progress.append(done)
                    #expect(total == 1200)
                }
            )
            #expect(result.missing == 0 && result.failed == 1)
            #expect(progress.last == 1200)
            let text = String(decoding: result.lines(asJSON: false), as: UTF8.self)
            #expect(text == "1199  confirmed  -\n1  rejected  status 8\n")
        }
    }

    private struct Published {
        var partition: Int32
        var offset: Int64
        var requestID: String
        var tokens: [[UInt8]]
        /// Of key and value.
        var bytes: Int
    }

    private func published(_ settings: KafkaSettings, in topic: String = "push.requests") throws -> [Published] {
        var found: [Published] = []
        for batch in try contents(of: topic, brokers: settings.brokers) {
            for index in 0..<batch.count {
                let message = batch[index]
                let view = try SendRequestView(decoding: message.value, as: .protobuf)
                found.append(
                    Published(
                        partition: message.partition,
                        offset: message.offset,
                        requestID: String(decoding: view.requestID, as: UTF8.self),
                        tokens: (0..<view.tokenCount).map { Array(view.token(at: $0).bytes) },
                        bytes: message.key.count + message.value.count
                    )
                )
            }
        }
        return found
    }

    private func outcome(
        _ partition: Int32,
        _ offset: Int64,
        _ index: Int,
        _ requestID: String,
        of topic: String = "push.requests"
    ) -> PushOutcome {
        .with {
            $0.sourceTopic = topic
            $0.sourcePartition = partition
            $0.sourceOffset = offset
            $0.tokenIndex = UInt32(index)
            $0.requestID = requestID
            $0.kind = .confirmed
        }
    }

    private func tell(_ outcomes: [PushOutcome], _ settings: KafkaSettings) throws {
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        defer { producer.close() }
        for outcome in outcomes {
            let value: [UInt8] = try outcome.serializedBytes()
            try producer.produce(topic: "push.outcomes", key: Array("a.b".utf8), value: value)
        }
        try producer.flush(timeoutMilliseconds: 10_000)
    }

    private func order(_ tokens: TokenInput, requestID: String) -> PublishOrder {
        let payload = Array(#"{"aps":{}}"#.utf8)
        return PublishOrder(bundleID: "a.b", tokens: tokens, content: .payload(payload), requestID: requestID)
    }

    /// A file of tokens, and then other lines.
    private func withFile(
        tokens count: Int,
        extra: String = "",
        _ body: (_ path: String, _ tokens: [[UInt8]], KafkaSettings) throws -> Void
    ) throws {
        let topics = TopicLayout(partitions: 4).topics.map { (name: $0.name, partitions: $0.partitions) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        var random = SeededGenerator(seed: UInt64(count))
        let tokens = (0..<count).map { _ in random.bytes(32) }
        let path = NSTemporaryDirectory() + "belfry-publication-\(UUID().uuidString)"
        let text = tokens.map { Hex.encode($0) + "\n" }.joined() + extra
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path, tokens, settings)
    }
}
