import BelfryProducer
import BelfrySupport
import PushSchemas
import RequestLanes
import TestSupport
import Testing

@testable import BelfryTools

/// The rules of a publication, without brokers and clocks.
@Suite struct PublicationRuleTests {
    private static let begin = ContinuousClock.now

    @Test("So many a second leave, and after a pause in which fewer did no more than a moment's")
    func pace() {
        var pace = CommandPace(perSecond: 1000)
        #expect(pace.delay(of: 500, now: Self.begin) == .zero)
        #expect(pace.delay(of: 500, now: Self.begin) == .milliseconds(500))
        #expect(pace.delay(of: 1, now: Self.begin + .milliseconds(900)) == .milliseconds(100))
        let late = Self.begin + .seconds(60)
        #expect(pace.delay(of: 1000, now: late) == .zero)
        #expect(pace.delay(of: 1000, now: late) == .seconds(1) - CommandPace.slack)
        #expect(pace.delay(of: 1, now: late) == .seconds(2) - CommandPace.slack)
    }

    @Test("A wait for the outcomes of typed tokens asks for each with its reason, that for a file for the numbers")
    func awaitedReport() {
        func report(_ tokens: TokenInput) -> RequestReport {
            PublishOrder(bundleID: "a.b", tokens: tokens, content: .payload([]), requestID: "r").awaitedReport
        }
        #expect(report(.listed(["00"])) == .all && report(.file("-", .lines)) == .summary)
    }

    @Test("Timers that are a little late do not lower the rate")
    func lateTimers() {
        var pace = CommandPace(perSecond: 1_000_000)
        var now = Self.begin
        for _ in 0..<2000 {
            let delay = pace.delay(of: 500, now: now)
            if delay > .zero { now += delay + .milliseconds(1) }
        }
        #expect(Self.begin.duration(to: now) < .milliseconds(1005))
    }

    @Test("In any second no more leave than the rate and a moment's, but for one record")
    func anySecond() {
        var random = SeededGenerator(seed: 4)
        var pace = CommandPace(perSecond: 100)
        var now = Self.begin
        var departures: [(time: ContinuousClock.Instant, tokens: Int)] = []
        for _ in 0..<500 {
            let tokens = random.pick(1...50)
            now += .milliseconds(random.pick(0...400))
            now += pace.delay(of: tokens, now: now)
            departures.append((now, tokens))
        }
        for (index, departure) in departures.enumerated() {
            let second = departures[index...].prefix { departure.time.duration(to: $0.time) < .seconds(1) }
            #expect(second.dropLast().reduce(0) { $0 + $1.tokens } <= 101)
        }
    }

    @Test("A pulse comes once in an interval, however often it is asked for")
    func pulse() {
        var pulse = Pulse(every: .seconds(1), from: Self.begin)
        let due = [0, 500, 1000, 1001, 1999, 2000, 9000, 9001].map {
            pulse.isDue(now: Self.begin + .milliseconds($0))
        }
        #expect(due == [false, false, true, false, false, true, true, false])
    }

    @Test("Progress tells rate and time left of this run, once there is something to judge by")
    func progress() {
        var progress = PublishProgress(done: 500, total: 2000, earlier: 0, elapsed: .milliseconds(900))
        #expect(progress.text == "[#######.......................] 25% 500 of 2000 tokens")
        progress.elapsed = .seconds(2)
        #expect(progress.text.hasSuffix(" 500 of 2000 tokens, 250 a second, 6 s left"))
        progress.earlier = 400
        #expect(progress.text.hasSuffix(", 50 a second, 30 s left"))
        #expect(PublishProgress.text(seconds: 59.1) == "1 min 0 s")
        #expect(PublishProgress.text(seconds: 3599) == "59 min 59 s")
        #expect(PublishProgress.text(seconds: 7500) == "2 h 5 min")
    }

    @Test("A dry run counts tokens, records, bytes, and tokens by the partition of the key")
    func forecast() {
        var forecast = PublishForecast(topic: "push.requests", partitions: .success(12))
        let keys = ["a.b#0", "a.b#1", "a.b#0"]
        for key in keys {
            forecast.add(OutgoingRecord(key: key, value: [1, 2, 3], headers: [], tokenCount: 10))
        }
        #expect(forecast.tokens == 30 && forecast.records == 3 && forecast.bytes == 3 * 8)
        let places = keys.map { Int(KafkaPartitioner.murmur2Partition(key: $0, count: 12)) }
        var expected = [Int](repeating: 0, count: 12)
        for place in places { expected[place] += 10 }
        #expect(forecast.partitions == expected)
        #expect(forecast.text.hasPrefix("dry run: 30 tokens in 3 records, 24 bytes, for push.requests; nothing was "))
        let row = "partition \(places[0]): \(expected[places[0]]) tokens"
        #expect(forecast.text.split(separator: "\n").contains { $0 == row })
        #expect(forecast.json.contains(#""tokens_by_partition":{"#))
        #expect(forecast.json.hasSuffix(#""faults":[]}"#))
    }

    @Test("A dry run counts the tokens that their record has before, and is silent if there are none")
    func repeatedTokens() throws {
        var forecast = PublishForecast(topic: "t", partitions: .success(1))
        for tokens in [[1, 2], [1, 1, 2, 1]] as [[UInt8]] {
            #expect(!forecast.text.contains("repeated"))
            let value: [UInt8] = try PushSendRequest.with { request in
                request.payloadJson = "{}"
                request.tokens = tokens.map { token in .with { $0.hex = String(repeating: "0\(token)", count: 32) } }
            }.serializedBytes()
            forecast.add(OutgoingRecord(key: "a.b", value: value, headers: [], tokenCount: tokens.count))
        }
        #expect(forecast.tokens == 6 && forecast.repeatedTokens == 2)
        #expect(forecast.text.contains("\n2 tokens repeated in the same record, to be sent to once\n"))
        #expect(forecast.json.contains(#""tokens":6,"repeated_tokens":2,"records":2"#))
    }

    @Test("Without brokers a dry run says that the partitions are not known, and why")
    func forecastAlone() {
        let forecast = PublishForecast(topic: "t", partitions: .failure(.kafka("broker x unreachable")))
        #expect(
            forecast.text == """
                dry run: 0 tokens in 0 records, 0 bytes, for t; nothing was published
                partitions: not known: broker x unreachable
                """
        )
        #expect(forecast.json.contains(#""partitions_unknown":"broker x unreachable""#))
    }

    @Test("Payload, options, lane, brokers and what was typed make another order; the order of the brokers does not")
    func orderText() {
        let template = RequestBatcher.Template(bundleID: "a.b", requestID: "r", content: .payload(Array("{}".utf8)))
        func text(
            _ typed: String = "",
            _ brokers: String = "h1:1,h2:2",
            _ format: TokenFormat = .lines,
            in lane: RequestLane = .normal,
            _ change: (inout RequestBatcher.Template) -> Void = { _ in }
        ) -> String {
            var changed = template
            change(&changed)
            return PublishCheckpoint.text(of: changed, format, in: lane, fixed: typed, brokers: brokers)
        }
        let same = text()
        #expect(text("", "h2:2, h1:1") == same)
        #expect(text { $0.requestID = "other" } == same)
        #expect(text { $0.expiration = 7 } == same)
        #expect(!same.contains("lane"), "a checkpoint of a version without lanes goes on")
        for other in [
            text("30s"), text("", "h1:1"), text("", "h1:1,h2:2", .packed), text(in: .urgent), text(in: .bulk),
            text { $0.content = .payload(Array("[]".utf8)) }, text { $0.content = .notification(PushNotification()) },
            text { $0.bundleID = "c" }, text { $0.spread = 2 }, text { $0.priority = 5 }, text { $0.report = .all },
            text { $0.collapseID = "c" }, text { $0.environment = "e" }, text { $0.pushType = "alert" },
            text { $0.coalescingKey = "k" }, text { $0.format = .json },
        ] {
            #expect(other != same)
        }
    }
}
