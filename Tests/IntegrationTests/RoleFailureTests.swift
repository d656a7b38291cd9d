import LocalPipeline
import Testing
import Workbench

@testable import TokenState

extension IntegrationTests {
    struct RoleFailureTests {
        @Test("Kill -9 of the registrar while it works loses no registration")
        func registrar() async throws {
            try await withPipeline { options in
                options.devices = 9000
            } _: { pipeline, kafka in
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 9000)
                let dying = try pipeline.startRegistrar()
                try kafka.register(Array(tokens[..<3000]), bundleID: news, at: 1_700_000_000)
                try kafka.wait(for: "the first registrations") { try inspector.count().registered > 0 }
                try kafka.register(Array(tokens[3000..<6000]), bundleID: news, at: 1_700_000_000)
                dying.kill()

                try pipeline.startRegistrar()
                try kafka.register(Array(tokens[6000...]), bundleID: news, at: 1_700_000_000)
                try kafka.wait(for: "all registrations") { try inspector.count().registered >= 9000 }
                #expect(try inspector.count() == .init(registered: 9000, tombstoned: 0))
            }
        }

        @Test("A role that cannot go on ends with exit code 1, and its last words say why")
        func cannotGoOn() async throws {
            try await withPipeline { _ in
            } _: { pipeline, _ in
                let registrar = try pipeline.startRegistrar()
                try registrar.waitForLogLine(with: "partitions assigned", "push.registrations", within: patience)
                let words = ["redis-cli", "-u", pipeline.redisURL, "SET", "k:tokens", "2"]
                #expect(try ChildProcess("redis-cli", executable: "/usr/bin/env", arguments: words).wait() == 0)
                #expect(try registrar.wait(within: patience) == 1)
                let last = registrar.log.split(separator: "\n").last
                let cause = "k:tokens in Redis says that tokens lie elsewhere than at the start of the role"
                #expect(last == "belfry: \(cause)")
            }
        }

        @Test("A registrar without partitions takes over when the one that has them is stopped")
        func standby() async throws {
            try await withPipeline { options in
                options.partitions = 1
            } _: { pipeline, kafka in
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 2)
                let first = try pipeline.startRegistrar()
                try first.waitForLogLine(with: "partitions assigned", "push.registrations", within: patience)
                let second = try pipeline.startRegistrar()
                try second.waitForLogLine(with: "partitions assigned", "push.registrations", within: patience)
                try kafka.wait(for: "one that has the partition") { isBusy(first) != isBusy(second) }
                try kafka.register([tokens[0]], bundleID: news, at: 1_700_000_000)
                try kafka.wait(for: "the first registration") { try inspector.count().registered == 1 }

                #expect((isBusy(first) ? first : second).terminate() == 0)
                try kafka.register([tokens[1]], bundleID: news, at: 1_700_000_000)
                try kafka.wait(for: "the second registration") { try inspector.count().registered == 2 }
            }
        }

        /// The registrar has partition 0 of push.registrations, by what it wrote so far.
        private func isBusy(_ registrar: ChildProcess) -> Bool {
            let last = registrar.log.split(separator: "\n").last {
                $0.contains("\"push.registrations\"") && $0.contains("\"partitions ")
            }
            return last.map { $0.contains("\"partitions assigned\"") && $0.contains("\"[0]\"") } ?? false
        }
    }
}
