import Foundation
import FoundationNetworking
import NIOEmbedded
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport

@Suite("Operations endpoint", .timeLimit(.minutes(1)))
struct OperationsEndpointServerTests {
    private func withEndpoint(
        _ source: EndpointSource,
        _ body: (_ get: (String) async throws -> (status: Int, text: String)) async throws -> Void
    ) async throws {
        try await RunningEndpoint.run(source) { address in
            try await body { path in
                let url = try #require(URL(string: "http://\(address)/\(path)"))
                let (data, response) = try await URLSession.shared.data(from: url)
                return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
            }
        }
    }

    @Test("A role that can go on is alive, whether it is ready or not")
    func alive() async throws {
        try await withEndpoint(EndpointSource(health: RoleHealth())) { get in
            #expect(try await get("livez") == (200, "alive\n"))
            let ready = try await get("readyz")
            #expect(ready == (503, "{\"ready\":false,\"obstacles\":[\"waits for Kafka\"]}\n"))
            #expect(try await get("metrics").text.contains("belfry_test"))
        }
    }

    @Test("Metrics tell of the process and the build, and the status is versioned JSON")
    func everyRole() async throws {
        try await withEndpoint(EndpointSource(health: RoleHealth())) { get in
            let metrics = try await get("metrics").text
            let build = "belfry_build_info{role=\"tester\",version=\"\(BelfryVersion.text)\"} 1\n"
            #expect(metrics.contains(build), "\(metrics)")
            for name in ["resident_memory_bytes", "cpu_seconds_total", "open_fds", "start_time_seconds"] {
                #expect(metrics.contains("\nprocess_\(name) "), "\(name)")
            }
            #expect(try Promtool.complaints(about: metrics) == "")
            let answer = try await get("status")
            #expect(answer.status == 200)
            let status = try JSONDecoder().decode(RoleStatus.self, from: Data(answer.text.utf8))
            #expect(status.version == RoleStatus.currentVersion && status.role == "tester" && !status.isReady)
            #expect(status.obstacles == ["waits for Kafka"])
            #expect(status.uptimeSeconds.map { $0 >= 0 } == true)
            #expect(status.process.map { $0.residentBytes > 1 << 20 } == true)
        }
    }

    @Test("A role that cannot go on says why, and is not ready for that reason")
    func failed() async throws {
        let health = RoleHealth()
        health.fail("Kafka consumer failed permanently: fenced")
        try await withEndpoint(EndpointSource(health: health)) { get in
            #expect(try await get("livez") == (503, "Kafka consumer failed permanently: fenced\n"))
            let ready = try await get("readyz")
            #expect(ready.status == 503)
            #expect(ready.text.contains("fenced"))
            #expect(try await get("metrics").text.contains("belfry_test"), "its event loops answer")
        }
    }

    @Test("While an event loop stands still everything is answered, without asking it")
    func stuck() async throws {
        try await withEndpoint(EndpointSource(health: stuckHealth(), isStuck: true)) { get in
            let live = try await get("livez")
            #expect(live.status == 503)
            #expect(live.text.hasPrefix("event loop shard-0 stands still for "))
            #expect(try await get("readyz").status == 503)
            let metrics = try await get("metrics")
            #expect(metrics.status == 200)
            #expect(metrics.text.contains("belfry_event_loop_silence_seconds{loop=\"shard-0\"}"))
            #expect(metrics.text.contains("\nbelfry_ready{dependency=\"process\"} 0\n"))
            let status = try JSONDecoder().decode(RoleStatus.self, from: Data(try await get("status").text.utf8))
            #expect(status.obstacles.first?.hasPrefix("event loop shard-0 stands still for ") == true)
        }
    }

    /// The clock of this event loop stands at 0, the beginning of the machine's.
    private func stuckHealth() -> RoleHealth {
        let health = RoleHealth()
        health.watch(EmbeddedEventLoop(), as: "shard-0")
        return health
    }
}
