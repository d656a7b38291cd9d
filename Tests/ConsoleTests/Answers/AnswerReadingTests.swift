import BelfrySupport
import Foundation
import Testing

@testable import Console

/// Answers to `GET /status`: good ones, those of other versions, broken ones, hostile ones.
struct AnswerReadingTests {
    private func read(_ text: String, status: Int = 200) -> Result<RoleAnswer, AnswerTrouble> {
        AnswerReading.read(status: status, body: Array(text.utf8))
    }

    private func trouble(_ text: String, status: Int = 200) -> String? {
        if case .failure(let trouble) = read(text, status: status) { trouble.description } else { nil }
    }

    /// A worker's answer with other members.
    private func answer(_ members: String) throws -> RoleAnswer {
        try read("{\"version\":2,\"role\":\"worker\",\(members)}").get()
    }

    @Test("Everything that a role can tell is read as it was told")
    func whole() throws {
        var status = RoleStatus(role: "worker", now: 1000)
        status.uptimeSeconds = 12.5
        status.isReady = true
        status.obstacles = ["the worker waits for Redis"]
        status.configuration = .init(
            reloads: 1,
            refusedReloads: 0,
            restartNeeded: [.init(key: "worker.shards", inForce: "2", configured: "4")]
        )
        var partition = RoleStatus.Partition(kafkaTopic: "push.requests", number: 7, lagRecords: 1200)
        partition.waitingRecords = 200
        partition.behindTopics = 1
        partition.isStanding = true
        status.partitions = [partition]
        var topic = RoleStatus.Topic(topic: "com.example.news", environment: "production")
        topic.stoppedBecause = "topic-refused"
        topic.isPaused = true
        topic.pausedLanes = ["bulk"]
        topic.pace = 50
        topic.pacedLanes = ["normal", "bulk"]
        topic.discardsBefore = .init(unixSeconds: 1_700_000_000)
        topic.discardingLanes = ["urgent"]
        topic.lagRecords = 1000
        topic.cursors = (Int32(1)...4).map { RoleStatus.Cursor(partition: $0, offset: 2) }
        topic.cursors[0].lane = "bulk"
        topic.cursors[1].lane = "urgent"
        topic.cursors[2].lane = "bulk"
        topic.cursorAgeSeconds = 310.5
        topic.oldestUnconfirmedSeconds = 12.5
        topic.inFlight = 3
        topic.waiting = 4
        topic.openConnections = 5
        topic.accepted = 180_000
        status.topics = [topic]
        status.omittedTopics = 9
        status.controlsAgeSeconds = 1.5
        status.gateways = [
            .init(environment: "production", transport: "http2", addresses: ["a:443"], connections: ["open": 4])
        ]
        status.certificates = [.init(topic: "a", environment: "b", notAfter: 87_400 * 30, now: 1000)]
        status.keys = [.init(team: "T", key: "K", tokenAgeSeconds: 1205)]
        status.harvests = [
            .init(topic: "a", environment: "b", ageSeconds: 9, step: "waiting", holdsLease: true, unacknowledged: 0)
        ]
        status.totals = ["records": 5]
        status.outcomes = ["confirmed": 6]
        status.delivery = [
            .init(
                transport: "http2",
                topicClass: "lagging",
                boundsSeconds: TimeCounts.boundsSeconds,
                handedOver: [1, 2],
                settled: [0, 3]
            )
        ]
        status.scaling = .init(waitingRecords: 200, recordsPerSecond: 25.5, ratePeriodSeconds: 60, partitions: 1)
        let text = String(decoding: try JSONEncoder().encode(status), as: UTF8.self)

        var expected = RoleAnswer(role: "worker")
        expected.programVersion = BelfryVersion.text
        expected.uptimeSeconds = 12.5
        expected.isReady = true
        expected.obstacles = ["the worker waits for Redis"]
        expected.restartNeeded = ["worker.shards"]
        expected.partitions = [
            .init(
                kafkaTopic: "push.requests",
                number: 7,
                lagRecords: 1200,
                waitingRecords: 200,
                behindTopics: 1,
                isStanding: true
            )
        ]
        expected.topics = [
            .init(
                name: .init(topic: "com.example.news", environment: "production"),
                stoppedBecause: "topic-refused",
                isPaused: true,
                pausedLanes: ["bulk"],
                pace: 50,
                pacedLanes: ["normal", "bulk"],
                discardsBefore: "2023-11-14T22:13:20.000Z",
                discardingLanes: ["urgent"],
                lagRecords: 1000,
                laggingLanes: ["urgent", "normal", "bulk"],
                cursorAgeSeconds: 310.5,
                oldestUnconfirmedSeconds: 12.5,
                inFlight: 3,
                waiting: 4,
                openConnections: 5,
                accepted: 180_000
            )
        ]
        expected.omittedTopics = 9
        expected.controlsAgeSeconds = 1.5
        expected.gateways = [
            .init(environment: "production", transport: "http2", addresses: ["a:443"], connections: ["open": 4])
        ]
        expected.certificates = [.init(name: .init(topic: "a", environment: "b"), daysLeft: 30)]
        expected.keys = [.init(team: "T", key: "K", tokenAgeSeconds: 1205)]
        expected.harvests = [
            .init(name: .init(topic: "a", environment: "b"), ageSeconds: 9, step: "waiting", holdsLease: true)
        ]
        expected.totals = ["records": 5]
        expected.outcomes = ["confirmed": 6]
        expected.delivery = [
            .init(transport: .http2, topicClass: .lagging): .init(handedOver: .init([1, 2]), settled: .init([0, 3]))
        ]
        expected.recordsPerSecond = 25.5
        #expect(try read(text).get() == expected)
    }

    @Test("What an older program does not tell, and a newer one tells beside it, does no harm")
    func otherPrograms() throws {
        let old = try read(#"{"version":2,"role":"harvester"}"#).get()
        #expect(old == RoleAnswer(role: "harvester"))
        let new = try answer(#""isReady":true,"moon":{"phase":[1]},"topics":[{"topic":"a","colour":"blue"}]"#)
        #expect(new.isReady && new.topics.map(\.name.topic) == ["a"])
    }

    @Test("Lanes that this console does not know are left out, and a cursor that names none is the normal lane's")
    func lanes() throws {
        func lanes(_ cursors: String) throws -> [String]? {
            try answer("\"topics\":[{\"topic\":\"a\",\"cursors\":\(cursors)}]").topics.first?.laggingLanes
        }
        #expect(try lanes(#"[{"lane":"slow","partition":1},{"lane":"bulk"}]"#) == ["bulk"])
        #expect(try lanes(#"[{"partition":1,"offset":2}]"#) == ["normal"])
        #expect(try lanes("[]") == [])
        #expect(try lanes("null") == [])
        #expect(trouble(#"{"version":2,"role":"worker","topics":[{"cursors":[{"lane":7}]}]}"#) != nil)
    }

    @Test("Lanes of levers come in their order, those that this console does not know are left out")
    func lanesOfLevers() throws {
        let told = #"{"topic":"a","pausedLanes":["bulk","slow","urgent"],"pacedLanes":[],"discardingLanes":null}"#
        let topic = try #require(try answer(#""topics":["# + told + "]").topics.first)
        #expect(topic.pausedLanes == ["urgent", "bulk"] && topic.pacedLanes == [] && topic.discardingLanes == [])
        let place = trouble(#"{"version":2,"role":"worker","topics":[{"pausedLanes":[7]}]}"#)
        #expect(place?.contains("topics[0].pausedLanes") == true, "\(place ?? "read")")
    }

    @Test("A lever that is not set is left out")
    func unsetLevers() throws {
        var topic = RoleStatus.Topic(topic: "a", environment: "b")
        topic.isPaused = true
        topic.isPaused = false
        let text = String(decoding: try JSONEncoder().encode(topic), as: UTF8.self)
        #expect(!text.contains("aused") && !text.contains("pace") && !text.contains("discards"))
    }

    @Test("A layout of another version is not guessed at")
    func version() {
        #expect(trouble(#"{"version":3,"role":"worker"}"#)?.contains("version 3, this console reads 2") == true)
        #expect(trouble(#"{"role":"worker"}"#) == "its /status lacks version")
        #expect(trouble(#"{"version":2,"role":""}"#) == "its /status names no role")
    }

    @Test(
        "What is no answer of a role is told in words, with its place",
        arguments: [
            ("", "its /status is no JSON object of a role"),
            ("[]", "its /status has something unexpected at its beginning"),
            ("<html>", "its /status is no JSON object of a role"),
            (#"{"version":2,"role":"worker","topics":[{"topic":7}]}"#, "topics[0].topic"),
            (#"{"version":2,"role":"worker","topics":[{"lagRecords":"7"}]}"#, "topics[0].lagRecords"),
            (#"{"version":2,"role":"worker","totals":{"records":"many"}}"#, "totals.records"),
            (#"{"version":2,"role":"worker","configuration":{"restartNeeded":[7]}}"#, "configuration.restartNeeded[0]"),
        ]
    )
    func broken(text: String, words: String) {
        #expect(trouble(text)?.contains(words) == true, "\(trouble(text) ?? "read")")
    }

    @Test("Nesting without end is refused")
    func depth() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(trouble(#"{"version":2,"role":"worker","moon":"# + deep) != nil)
    }

    @Test("An answer other than 200 is told by its number, and a refusal asks for the token")
    func statuses() {
        #expect(trouble("", status: 503) == "/status is answered with HTTP 503")
        #expect(trouble("", status: 401)?.contains("is the token right?") == true)
    }

    @Test("Numbers beyond all reason are cut, so that sums stay numbers")
    func numbers() throws {
        let wild = try answer(
            #""topics":[{"topic":"a","lagRecords":-5,"accepted":9223372036854775807,"cursorAgeSeconds":-1e300,"#
                + #""waiting":1e300}],"totals":{"records":-1,"sent":1e300},"certificates":[{"topic":"a","daysLeft":-9223372036854775808}]"#
        )
        #expect(wild.topics.first?.lagRecords == 0)
        #expect(wild.topics.first?.accepted == ConsoleLimits.count)
        #expect(wild.topics.first?.cursorAgeSeconds == 0)
        #expect(wild.topics.first?.waiting == ConsoleLimits.count)
        #expect(wild.totals == ["records": 0, "sent": ConsoleLimits.count])
        #expect(wild.certificates.first?.daysLeft == -100_000)
    }

    @Test("Times of ways and with bounds that this console does not know are left out")
    func delivery() throws {
        let bounds = TimeCounts.boundsSeconds.map { "\($0)" }.joined(separator: ",")
        func told(_ transport: String, _ topicClass: String, _ bounds: String, _ counts: String = "[1]") -> String {
            """
            {"transport":"\(transport)","topicClass":"\(topicClass)","boundsSeconds":[\(bounds)],\
            "handedOver":\(counts),"settled":[]}
            """
        }
        let known = try answer("\"delivery\":[\(told("binary", "live", bounds, "[-1,1e300]"))]").delivery
        let way = DeliveryCounts.Way(transport: .binary, topicClass: .live)
        #expect(known == [way: .init(handedOver: .init([0, ConsoleLimits.count]))])
        for other in [told("pigeon", "live", bounds), told("binary", "idle", bounds), told("binary", "live", "1,2")] {
            #expect(try answer("\"delivery\":[\(other)]").delivery == [:])
        }
        #expect(trouble("{\"version\":2,\"role\":\"worker\",\"delivery\":[{\"settled\":[\"x\"]}]}") != nil)
    }

    @Test("Lists and tables of names are read as far as the page shows them")
    func lists() throws {
        let topics = (0..<5000).map { "{\"topic\":\"t\($0)\"}" }.joined(separator: ",")
        let totals = (0..<5000).map { "\"n\($0)\":1" }.joined(separator: ",")
        let keys = Array(repeating: #"{"key":"k"}"#, count: 5000).joined(separator: ",")
        let configuration = "\"configuration\":{\"restartNeeded\":[\(keys)]}"
        let long = try answer("\"topics\":[\(topics)],\"totals\":{\(totals)},\(configuration)")
        #expect(long.topics.count == ConsoleLimits.rows && long.totals.count == 100)
        #expect(long.restartNeeded.count == 50)
    }

    @Test("Texts are cut, and characters that act instead of being seen are replaced")
    func texts() throws {
        let long = String(repeating: "é", count: 500)
        let odd = try answer(#""obstacles":["a\u0000b\u202ec\nd","\#(long)"]"#)
        #expect(odd.obstacles.first == "a\u{fffd}b\u{fffd}c\u{fffd}d")
        #expect(odd.obstacles.last == String(repeating: "é", count: 100) + "…")
        let markup = try answer(#""topics":[{"topic":"<b>&amp;\"x\"</b>"}]"#)
        #expect(markup.topics.first?.name.topic == "<b>&amp;\"x\"</b>")
    }
}
