import APNsProtocol
import Foundation
import LocalPipeline
import PushSchemas
import Testing
import Workbench

@testable import TokenState

extension IntegrationTests {
    /// The worker and the sandbox's provider API.
    struct ProviderAPITests {
        @Test("Every status and reason of the provider API leads to what the table says")
        func everyReason() async throws {
            try await withProviderAPI { run in
                for entry in ProviderReason.table {
                    for status in entry.statuses { try await run.check(entry, status) }
                }
                _ = run.pipeline.stopWorkers()
                #expect(run.kafka.books.missing == 0 && run.kafka.books.repeated == 0)
                #expect(run.kafka.books.count(.presumed) == 0)
            }
        }

        @Test("429 for a device goes again for worker.retry-for, and is rejected then")
        func tooManyRequests() async throws {
            try await withProviderAPI { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"request-error","topic":"\#(news)","reason":"TooManyRequests"}"#
                )
                let outcome = try run.deliver()
                #expect(outcome.kind == .rejected && outcome.status == 429 && outcome.reason == "TooManyRequests")
                #expect(try await run.pipeline.sandbox.stats().rejected["429 TooManyRequests"] ?? 0 > 1)
            }
        }

        @Test("Many 5xx stop the topic, which lags at its cursor; when they end all is sent once")
        func serviceTrouble() async throws {
            try await withProviderAPI { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"request-error","topic":"\#(news)","reason":"ServiceUnavailable"}"#
                )
                for _ in 0..<50 { try run.publish() }
                try run.worker.waitForLogLine(
                    with: "it lags and is probed",
                    "service-trouble",
                    within: patience
                )
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try run.kafka.waitForOutcomes()
                #expect(run.kafka.books.count(.confirmed) == 50)
                let stats = try await run.pipeline.sandbox.stats()
                #expect(stats.accepted == 50 && stats.distinct == 50)
            }
        }

        @Test("A service that refuses the app's topic stops it, and its requests wait; the log names key and team")
        func topicDisallowed() async throws {
            try await withProviderAPI { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"request-error","topic":"\#(news)","reason":"TopicDisallowed"}"#
                )
                for _ in 0..<100 { try run.publish() }
                try run.worker.waitForLogLine(
                    with: "it lags and is probed",
                    "\"topic-refused\"",
                    " of team ",
                    within: patience
                )
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try run.kafka.waitForOutcomes()
                // Fewer than the row that shows it, were they slower than their attempts.
                #expect(run.kafka.books.count(.rejected) < 20 && run.kafka.books.missing == 0)
                let stats = try await run.pipeline.sandbox.stats()
                #expect(stats.distinct == run.kafka.books.count(.confirmed) && stats.accepted == stats.distinct)
            }
        }

        @Test("A service whose clock is two hours ahead stops the team, not for good; then all is confirmed once")
        func skewedClock() async throws {
            try await withProviderAPI { run in
                let sandbox = run.pipeline.sandbox
                #expect(try run.deliver().kind == .confirmed)
                try await sandbox.setFault(#"{"name":"token-clock","seconds":7200}"#)
                for _ in 0..<50 { try run.publish() }
                try run.worker.waitForLogLine(
                    with: "it lags and is probed",
                    "\"team-refused\"",
                    within: patience
                )
                // Once more over a new connection, and by probes: what the service refused is not given up.
                try await run.kafka.wait(for: "refusals of probes", at: sandbox) {
                    $0.rejected["403 ExpiredProviderToken"] ?? 0 > 3
                }
                #expect(try await sandbox.stats().accepted == 1, "nothing was accepted by the wrong clock")

                try await sandbox.setFault(#"{"clear":"token-clock"}"#)
                try run.kafka.waitForOutcomes()
                #expect(run.kafka.books.count(.confirmed) == 51)
                let stats = try await sandbox.stats()
                #expect(stats.accepted == 51 && stats.distinct == 51)
                #expect(run.kafka.books.missing == 0 && run.kafka.books.repeated == 0)
                #expect(stats.rejected.keys.sorted() == ["403 ExpiredProviderToken"])
            }
        }

        @Test("A worker that starts again ten times has the same provider token: the service never says too many")
        func restarts() async throws {
            try await withProviderAPI { run in
                var worker = run.worker
                for _ in 0..<10 {
                    #expect(try run.deliver().kind == .confirmed)
                    worker.signal(SIGTERM)
                    #expect(worker.wait() == 0)
                    worker = try run.pipeline.startWorker()
                }
                #expect(try run.deliver().kind == .confirmed)
                // If a half hour has begun meanwhile there is a second token, which is not too many.
                let stats = try await run.pipeline.sandbox.stats()
                #expect(stats.rejected.isEmpty && stats.accepted == 11)
            }
        }

        @Test("Without an app a token is dead since the time of 410, silent from then on, and lives when it registers")
        func unregistered() async throws {
            try await withProviderAPI { run in
                try run.pipeline.startRegistrar()
                let inspector = try TokenInspector(redisURL: run.pipeline.redisURL)
                defer { inspector.close() }
                try await run.pipeline.sandbox.setDevices(topic: news, first: 0, count: 1, state: "uninstalled")
                let outcome = try run.deliver(device: 0)
                #expect(outcome.kind == .rejected && outcome.status == 410 && outcome.reason == "Unregistered")
                try run.kafka.wait(for: "the tombstone") { try inspector.count().tombstoned == 1 }
                #expect(try run.deliver(device: 0).kind == .tombstoned)
                #expect(try await run.pipeline.sandbox.stats().rejected == ["410 Unregistered": 1], "it was sent once")

                try await run.pipeline.sandbox.setDevices(topic: news, first: 0, count: 1, state: "reinstalled")
                try run.kafka.register([run.tokens[0]], bundleID: news, at: unixSeconds() + 1)
                try run.kafka.wait(for: "the registration") { try inspector.count().tombstoned == 0 }
                #expect(try run.deliver(device: 0).kind == .confirmed)
            }
        }

        @Test("A broadcast is one notification, which is confirmed; its subscribers get it, the offline ones later")
        func broadcast() async throws {
            try await withProviderAPI { run in
                let sandbox = run.pipeline.sandbox
                let channel = try run.makeChannel()
                try await sandbox.subscribe(topic: news, channel: channel, first: 0, count: 10)
                try await sandbox.setDevices(topic: news, first: 0, count: 3, state: "offline")
                let outcome = try run.broadcast(to: channel)
                #expect(outcome.kind == .confirmed && outcome.bundleID == news)
                #expect(outcome.tokenIndex == 0 && outcome.token.isEmpty)
                let stats = try await sandbox.stats()
                let channels = try #require(stats.topics[news]?.channels)
                #expect(channels.accepted == 1 && channels.delivered == 7 && channels.stored == 3)
                #expect(stats.accepted == 0, "it stands in no book of notifications to devices")

                try await sandbox.setDevices(topic: news, first: 0, count: 3, state: "online")
                let later = try #require(try await sandbox.stats().topics[news]?.channels)
                #expect(later.delivered == 10 && later.stored == 0 && later.missed == 0)
            }
        }

        @Test("A broadcast to a channel that is gone is rejected, and stops nothing")
        func goneChannel() async throws {
            try await withProviderAPI { run in
                let channel = try run.makeChannel()
                try run.pipeline.run(
                    "channels",
                    "delete",
                    "--config",
                    run.pipeline.configurationFile,
                    "--app",
                    news,
                    "--channel",
                    channel
                )
                let outcome = try run.broadcast(to: channel)
                #expect(outcome.kind == .rejected && outcome.status == 400 && outcome.reason == "ChannelNotRegistered")
                #expect(try run.deliver().kind == .confirmed)
            }
        }

        @Test("A token that is none gets a tombstone once a later request was accepted, until it registers")
        func badDeviceToken() async throws {
            try await withProviderAPI { run in
                try run.pipeline.startRegistrar()
                let inspector = try TokenInspector(redisURL: run.pipeline.redisURL)
                defer { inspector.close() }
                let strange = [UInt8](repeating: 0x5A, count: 32)
                #expect(try run.deliver(device: 0).kind == .confirmed)
                let outcome = try run.deliver(to: strange)
                #expect(outcome.kind == .rejected && outcome.status == 400 && outcome.reason == "BadDeviceToken")
                #expect(try run.deliver(device: 1).kind == .confirmed)
                try run.kafka.wait(for: "the tombstone") { try inspector.count().tombstoned == 1 }
                #expect(try run.deliver(to: strange).kind == .tombstoned)

                try run.kafka.register([strange], bundleID: news, at: unixSeconds() + 1)
                try run.kafka.wait(for: "the registration") { try inspector.count().tombstoned == 0 }
                #expect(try run.deliver(to: strange).kind == .rejected, "it was sent again")
            }
        }
    }
}

/// A pipeline over HTTP/2 with one worker, which has a provider key, and little patience with topics that do not work.
private func withProviderAPI(_ body: (ProviderAPIRun) async throws -> Void) async throws {
    try await withPipeline { options in
        options.transport = .http2
        options.worker =
            "{shards: 1, connections-per-topic: 1, connections-per-minute: 6000, backoff-base: 100ms, retry-for: 2s, "
            + "park-probe-base: 300ms, park-probe-cap: 1s}"
    } _: { pipeline, kafka in
        let run = try ProviderAPIRun(pipeline, kafka)
        defer { run.follower.close() }
        try await body(run)
    }
}

private final class ProviderAPIRun {
    let pipeline: LocalPipeline
    let kafka: PipelineClient
    let worker: ChildProcess
    let follower: TopicFollower
    let tokens: [[UInt8]]
    private var records: Records
    private var nextDevice = 100

    init(_ pipeline: LocalPipeline, _ kafka: PipelineClient) throws {
        self.pipeline = pipeline
        self.kafka = kafka
        worker = try pipeline.startWorker()
        follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.outcomes"])
        tokens = try pipeline.tokens(of: news, first: 0, count: 500)
        records = Records(tokens: tokens)
    }

    /// Publishes a notification to a device; nil: to one that had none so far.
    func publish(device: Int? = nil) throws {
        if device == nil { nextDevice += 1 }
        try kafka.publish([try records.record(to: [tokens[device ?? nextDevice]])])
    }

    /// The same, and waits for the outcome.
    func deliver(device: Int? = nil) throws -> PushOutcome {
        try publish(device: device)
        return try lastOutcome()
    }

    func deliver(to token: [UInt8]) throws -> PushOutcome {
        try kafka.publish([try records.record(to: [token])])
        return try lastOutcome()
    }

    /// Makes a channel that stores messages, at the service, and returns its id.
    func makeChannel() throws -> String {
        try pipeline.run(
            "channels",
            "create",
            "--config",
            pipeline.configurationFile,
            "--app",
            news,
            "--store-messages"
        )
    }

    /// Publishes a broadcast that may be stored for an hour, and waits for the outcome.
    func broadcast(to channel: String) throws -> PushOutcome {
        var record = try records.record(to: []) { request in
            request.channel = channel
            request.priority = 10
            request.expiration = unixSeconds() + 3600
        }
        record.notifications = 1
        try kafka.publish([record])
        return try lastOutcome()
    }

    /// The outcome of the notification published last.
    private func lastOutcome() throws -> PushOutcome {
        try kafka.waitForOutcomes()
        var found: PushOutcome?
        try kafka.wait(for: "its outcome in the log") {
            follower.poll()
            found = try follower.outcomes().map(\.outcome).first { outcome in
                kafka.places.last.map {
                    outcome.sourcePartition == $0.partition && outcome.sourceOffset == $0.offset
                } ?? false
            }
            return found != nil
        }
        return try #require(found)
    }

    /// Stops of the topic so far, by reason.
    private func stops(_ reason: String) -> Int {
        worker.log.split(separator: "\n").count { $0.contains("it lags and is probed") && $0.contains("\"\(reason)\"") }
    }

    /// Lets the service answer one notification with a status and a reason, and looks at what becomes of it.
    func check(_ entry: ProviderReason.Entry, _ status: Int) async throws {
        let (topicStops, teamStops) = (stops("topic-refused"), stops("team-refused"))
        try await pipeline.sandbox.setFault(
            #"{"name":"request-error","topic":"\#(news)","reason":"\#(entry.reason)","status":\#(status),"times":1}"#
        )
        let outcome = try deliver()
        let answer = Comment(rawValue: "\(status) \(entry.reason): \(outcome)")
        switch entry.verdict {
        case .rejected, .tokenDead, .tokenRefused:
            #expect(outcome.kind == .rejected, answer)
            #expect(outcome.status == UInt32(status) && outcome.reason == entry.reason.rawValue, answer)
        case .deadLetter:
            #expect(outcome.kind == .deadLettered, answer)
        case .accepted, .retryTokenLater, .backOff, .reconnect, .reconnectOnce, .doesNotWork, .topicRefused:
            #expect(outcome.kind == .confirmed, answer)
        }
        #expect(stops("topic-refused") - topicStops == (entry.verdict == .doesNotWork(.topic) ? 1 : 0), answer)
        #expect(stops("team-refused") - teamStops == (entry.verdict == .doesNotWork(.team) ? 1 : 0), answer)
    }
}
