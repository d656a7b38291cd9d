import Foundation
import LocalPipeline
import PushSchemas
import TestSupport
import Testing

@testable import TokenState

extension IntegrationTests {
    /// Roles and tools, each as its user of Deploy/redis.acl.
    struct AccessListTests {
        private static let list = Repository.top.appending(path: "Deploy/redis.acl")

        /// A server with the users of the list, which have passwords here. The test itself may do everything.
        private func server(in directory: URL) throws -> RedisServerProcess {
            let lines = try String(contentsOf: Self.list, encoding: .utf8).split(separator: "\n").map { line in
                line.hasPrefix("user default ") ? "user default on nopass ~* &* +@all" : "\(line) >secret"
            }
            let file = directory.appending(path: "users.acl")
            try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            return try RedisServerProcess(arguments: ["--aclfile", file.path, "--appendonly", "yes"])
        }

        private func withServer(_ body: (RedisServerProcess) async throws -> Void) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-acl-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            try await body(try server(in: directory))
        }

        /// Commands and keys that were refused to any user.
        private func refused(by server: RedisServerProcess) throws -> Set<String> {
            let lines = try server.command("ACL", "LOG", "128").split(whereSeparator: \.isNewline).map(String.init)
            return Set(zip(lines, lines.dropFirst()).filter { $0.0 == "object" }.map { $0.1 })
        }

        /// Made-up tokens, in one bucket until it is split.
        private static func crowd(_ count: Int, _ layout: TokenLayout) -> [[UInt8]] {
            var random = SeededGenerator(seed: 5)
            var tokens: [[UInt8]] = []
            while tokens.count < count {
                let token = random.bytes(32)
                if layout.place(of: token).tag == 7 { tokens.append(token) }
            }
            return tokens
        }

        /// The layout that a role has made.
        private func layout(_ server: RedisServerProcess, _ kafka: PipelineClient) throws -> TokenLayout {
            var layout: TokenLayout?
            try kafka.wait(for: "the first role") {
                let text = try server.command("GET", "k:tokens").split(whereSeparator: \.isNewline).first ?? ""
                layout = TokenLayout(text: String(text))
                return layout != nil
            }
            return try #require(layout)
        }

        @Test("All that roles and tools do is allowed to their users; only the settings of Redis are kept from them")
        func roles() async throws {
            try await withServer { server in
                func user(_ name: String) -> [String: String] {
                    ["BELFRY_REDIS_URL": server.url(credentials: "\(name):secret")]
                }
                try await withPipeline { options in
                    options.partitions = 1
                    options.redis = server.url(credentials: "tools:secret")
                    options.worker =
                        String(fastWorker.dropLast()) + ", tombstone-filter: false, certificate-grace: 1s, "
                        + "dedupe-window: 1h, coalescing-window: 200ms}"
                    options.configuration = "retention: {tombstones: 1h, idle: 1h}"
                } _: { pipeline, kafka in
                    let registrar = try pipeline.startRegistrar(environment: user("registrar"))
                    try pipeline.startHarvester(environment: user("harvester"))
                    let worker = try pipeline.startWorker(environment: user("worker"))
                    let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                    defer { inspector.close() }
                    let tokens = try pipeline.tokens(of: news, first: 0, count: 4)
                    let crowd = Self.crowd(130, try layout(server, kafka))
                    // More than a bucket holds, of which one is idle.
                    try kafka.register(tokens + crowd.dropLast(), bundleID: news, at: unixSeconds() - 600)
                    try kafka.register([crowd[129]], bundleID: news, at: unixSeconds() - 7200)
                    try kafka.wait(for: "registrations") { try inspector.count().registered == 134 }

                    // Look-ups, tombstones of gateway and feedback, requests that are remembered, windows.
                    try await pipeline.sandbox.setDevices(topic: news, first: 0, count: 1, state: "uninstalled")
                    var records = Records(tokens: tokens)
                    let strange = [UInt8](repeating: 0x5A, count: 32)
                    let first = try records.record(to: records.spread([strange], among: tokens))
                    try kafka.deliver(first)
                    try kafka.wait(for: "tombstones") { try inspector.count().tombstoned == 2 }
                    try kafka.deliver(first)
                    #expect(kafka.books.count(.duplicate) == 4 && kafka.books.count(.tombstoned) == 1)
                    try kafka.deliver(try records.record(to: [tokens[3]]) { $0.coalescingKey = "score" })
                    #expect(kafka.lastKind == .presumed)
                    // The search for registered tokens of a bundle without a certificate.
                    try kafka.deliver(try records.record(key: "com.example.nobody", to: [tokens[3]]))
                    #expect(kafka.lastKind == .deadLettered)

                    // The tools.
                    var seen = 0
                    let unreadable = try inspector.walk(environment: "sandbox", bundleID: news) { page, _ in
                        seen += page.count
                        return true
                    }
                    #expect(seen == 135 && unreadable == 0)
                    #expect(try inspector.forget([crowd[0]], environment: "sandbox", bundleID: news) == [true])

                    // The sweep begins when a registrar does.
                    #expect(registrar.terminate() == 0)
                    try pipeline.startRegistrar(environment: user("registrar"))
                    try kafka.wait(for: "the sweep") { try inspector.count().registered == 132 }
                    #expect(try refused(by: server).isSubset(of: ["config|get"]))
                    #expect(!worker.log.contains("NOPERM"))
                }
            }
        }

        @Test("What a migrating slot and a split need is allowed, too; what a role has no use for is not")
        func layouts() async throws {
            try await withServer { server in
                func expect(_ user: String, allowed: [[String]] = [], refused: [[String]] = []) throws {
                    for words in allowed + refused {
                        let isAllowed = try server.command(["ACL", "DRYRUN", user] + words).hasPrefix("OK")
                        #expect(isAllowed == allowed.contains(words), "\(user): \(words)")
                    }
                }
                for user in ["worker", "registrar", "harvester", "tools"] {
                    try expect(
                        user,
                        allowed: [
                            ["ASKING"], ["CLUSTER", "SLOTS"], ["HGETALL", "t3:{a:b:00}:1"], ["DEL", "n3:{a:b:00}"],
                            ["GET", "k:tokens"],
                            ["SCAN", "0", "MATCH", "t[0-9]:{*", "COUNT", "1000"],
                        ],
                        refused: [["FLUSHALL"], ["CONFIG", "GET", "requirepass"], ["GET", "other"]]
                    )
                }
                for user in ["worker", "registrar", "harvester"] {
                    try expect(user, allowed: [["SET", "k:tokens", "2", "NX"]])
                }
                let badge = "b:{a:b:00}:x"
                try expect(
                    "worker",
                    allowed: [["TIME"], ["GET", badge], ["SET", badge, "1", "EX", "9"], ["DEL", badge]],
                    refused: [["SET", "l:retention", "me"]]
                )
                try expect("registrar", refused: [["GET", badge], ["DEL", badge]])
                try expect(
                    "harvester",
                    allowed: [["SET", "l:{sandbox:com.example}:feedback", "me"]],
                    refused: [["GET", "d:{a:b:00}:x"], ["GET", badge]]
                )
                try expect(
                    "tools",
                    allowed: [["GET", badge], ["DEL", badge]],
                    refused: [
                        ["HSET", "t3:{a:b:00}:0", "token", "record"], ["SET", "k:tokens", "2"], ["SET", badge, "1"],
                    ]
                )
            }
        }
    }
}
