import APNsProtocol
import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// Clients of the provider API that are not ours, in Python and in C. `BELFRY_TEST_PYTHON` names a Python that has
/// aioapns, httpx and PyJWT.
@Suite(.timeLimit(.minutes(3)))
struct ForeignAPIServerTests {
    private static let topic = RunningSandbox.topics[0]
    private static let otherTopic = RunningSandbox.topics[1]
    /// No device's.
    private static let badToken = String(repeating: "00", count: 32)

    /// Their clocks are today's, and tokens are dated by them.
    private static let clock: @Sendable () -> UInt32 = { UInt32(clamping: Int(Date().timeIntervalSince1970)) }

    private func token(_ sandbox: RunningSandbox, _ device: UInt32, topic: String = topic) throws -> String {
        Hex.encode(try sandbox.token(device, topic: topic))
    }

    /// The team's key.
    private func key(_ sandbox: RunningSandbox) -> (file: String, id: String) {
        let id = ProviderKeyList.id(team: Sandbox.defaultTeam, topic: nil, environment: .development)
        return (sandbox.pki.providerKeyFile(id, folder: nil), id)
    }

    private func json(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
}

// MARK: aioapns

extension ForeignAPIServerTests {
    private struct Notification: Encodable {
        var token: String
        var alert = "hello"
        var topic: String?
        var priority: Int?
        var collapse: String?
        var type: String?
    }

    private struct Result: Decodable {
        let status: Int
        let reason: String?
        let timestamp: Int64?
    }

    private func aioapns(
        _ sandbox: RunningSandbox,
        _ credential: [String],
        each: [Notification],
        together: [Notification] = []
    ) async throws -> [String: [Result]] {
        try await ForeignScript(name: "aioapns_client.py").run(
            ["\(sandbox.server.ports.api)", sandbox.pki.authorityFile, Self.topic] + credential,
            input: json(["each": each, "together": together])
        )
    }

    @Test("With aioapns one sends with a certificate, many at once too, and learns each refusal's reason")
    func aioapnsCertificate() async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let change = #"{"topic":"\#(Self.topic)","first":9,"count":1,"state":"uninstalled"}"#
            #expect(try await sandbox.control("POST", "/devices", change).status == 200)
            let good = try token(sandbox, 1)
            let cases: [(Notification, Int, String?)] = [
                (Notification(token: good, priority: 5, collapse: "a", type: "alert"), 200, nil),
                (Notification(token: good, topic: Self.topic + ".voip", type: "voip"), 200, nil),
                (Notification(token: Self.badToken), 400, "BadDeviceToken"),
                (Notification(token: try token(sandbox, 1, topic: Self.otherTopic)), 400, "DeviceTokenNotForTopic"),
                (Notification(token: good, topic: Self.otherTopic), 400, "TopicDisallowed"),
                (Notification(token: good, priority: 7), 400, "BadPriority"),
                (Notification(token: good, priority: 10, type: "background"), 400, "BadPriority"),
                (Notification(token: good, collapse: String(repeating: "c", count: 65)), 400, "BadCollapseId"),
                (Notification(token: good, alert: String(repeating: "a", count: 5000)), 413, "PayloadTooLarge"),
                (Notification(token: try token(sandbox, 9)), 410, "Unregistered"),
            ]
            let together = try (10..<110 as Range<UInt32>).map { Notification(token: try token(sandbox, $0)) }
            let file = sandbox.pki.pemFile(bundleID: Self.topic)
            let results = try await aioapns(sandbox, ["certificate", file], each: cases.map(\.0), together: together)
            let each = try #require(results["each"])
            #expect(each.map(\.status) == cases.map(\.1))
            #expect(each.map(\.reason) == cases.map(\.2))
            #expect(each.compactMap(\.timestamp).count == 1)
            #expect(try #require(each.last?.timestamp) > 1_700_000_000_000)
            #expect(results["together"]?.map(\.status) == [Int](repeating: 200, count: 100))
            #expect(try await sandbox.stats()["accepted"] == .integer(102))
        }
    }

    @Test("With aioapns one sends with provider tokens from a key file, and is refused with one of another key")
    func aioapnsKey() async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let key = key(sandbox)
            let each = [
                Notification(token: try token(sandbox, 1)),
                Notification(token: try token(sandbox, 1, topic: Self.otherTopic), topic: Self.otherTopic),
                Notification(token: Self.badToken),
            ]
            let together = try (10..<60 as Range<UInt32>).map { Notification(token: try token(sandbox, $0)) }
            let credential = ["key", key.file, key.id, Sandbox.defaultTeam]
            let results = try await aioapns(sandbox, credential, each: each, together: together)
            #expect(results["each"]?.map(\.reason) == [nil, nil, "BadDeviceToken"])
            #expect(results["together"]?.map(\.status) == [Int](repeating: 200, count: 50))

            let foreign = ["key", key.file, "UNKNOWNKEY", Sandbox.defaultTeam]
            let refused = try #require(try await aioapns(sandbox, foreign, each: [each[0]])["each"]?.first)
            #expect(refused.status == 403 && refused.reason == "InvalidProviderToken")
        }
    }
}

// MARK: httpx

extension ForeignAPIServerTests {
    private struct Plan: Encodable {
        struct Request: Encodable {
            var method = "POST"
            var path: String
            /// Names and values.
            var headers: [[String]]
            var body = #"{"aps":{"alert":"hello"}}"#
            var key: Key?
        }

        struct Key: Encodable {
            let file: String
            let id: String
            let ageSeconds: Int

            func encode(to encoder: any Encoder) throws {
                var values = encoder.unkeyedContainer()
                try values.encode(file)
                try values.encode(id)
                try values.encode(Sandbox.defaultTeam)
                try values.encode(ageSeconds)
            }
        }

        var certificate: String?
        var each: [Request]
        var together: [Request] = []

        private enum CodingKeys: CodingKey {
            case certificate
            case each
            case together
        }

        /// With a null where there is no certificate.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(certificate, forKey: .certificate)
            try values.encode(each, forKey: .each)
            try values.encode(together, forKey: .together)
        }
    }

    private struct Answer: Decodable {
        let version: String
        let status: Int
        let headers: [String: String]
        let body: String

        var reason: String? {
            (try? ProviderErrorBody(parsing: Array(body.utf8)))?.reason.rawValue
        }
    }

    private func httpx(_ sandbox: RunningSandbox, _ plan: Plan) async throws -> [String: [Answer]] {
        try await ForeignScript(name: "httpx_client.py")
            .run(["\(sandbox.server.ports.api)", sandbox.pki.authorityFile], input: json(plan))
    }

    @Test(
        "A client of httpx gets ids, reasons and the kind of content, with a certificate and with a provider token",
        arguments: [true, false]
    )
    func httpx(byCertificate: Bool) async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let key = key(sandbox)
            let id = "123e4567-e89b-42d3-a456-426614174000"
            var good = Plan.Request(
                path: "/3/device/" + (try token(sandbox, 1)),
                headers: [["apns-topic", Self.topic], ["apns-id", id]]
            )
            if !byCertificate { good.key = Plan.Key(file: key.file, id: key.id, ageSeconds: 0) }
            let wrong: [(String, Int, (inout Plan.Request) -> Void)] = [
                ("MethodNotAllowed", 405, { $0.method = "GET" }), ("BadPath", 404, { $0.path = "/3/devices" }),
                ("BadDeviceToken", 400, { $0.path = "/3/device/xyz" }),
                ("DuplicateHeaders", 400, { $0.headers.append(["apns-id", id]) }),
                ("BadExpirationDate", 400, { $0.headers.append(["apns-expiration", "soon"]) }),
                ("InvalidPushType", 400, { $0.headers.append(["apns-push-type", "loud"]) }),
                ("PayloadEmpty", 400, { $0.body = "" }),
            ]
            let bad = wrong.map { wrong in
                var request = good
                wrong.2(&request)
                return request
            }
            var plan = Plan(each: [good] + bad, together: [Plan.Request](repeating: good, count: 50))
            if byCertificate { plan.certificate = sandbox.pki.pemFile(bundleID: Self.topic) }
            let answers = try await httpx(sandbox, plan)
            let each = try #require(answers["each"])
            #expect(each.map(\.status) == [200] + wrong.map(\.1))
            #expect(each.map(\.reason) == [nil] + wrong.map(\.0))
            #expect(each.allSatisfy { $0.version == "HTTP/2" && $0.headers["apns-id"] == id })
            #expect(each[0].body.isEmpty && each[0].headers["apns-unique-id"] != nil)
            #expect(each[1...].allSatisfy { $0.headers["content-type"] == "application/json" })
            #expect(answers["together"]?.map(\.status) == [Int](repeating: 200, count: 50))
        }
    }

    @Test("A provider token that PyJWT signs has its time: one of an hour ago has expired")
    func expiredToken() async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let key = key(sandbox)
            for (age, reason) in [(0, nil), (3000, nil), (4000, "ExpiredProviderToken")] as [(Int, String?)] {
                let request = Plan.Request(
                    path: "/3/device/" + (try token(sandbox, 1)),
                    headers: [["apns-topic", Self.topic]],
                    key: Plan.Key(file: key.file, id: key.id, ageSeconds: age)
                )
                let answer = try #require(try await httpx(sandbox, Plan(each: [request]))["each"]?.first)
                #expect(answer.status == (reason == nil ? 200 : 403) && answer.reason == reason)
            }
        }
    }
}

// MARK: curl and h2load

extension ForeignAPIServerTests {
    /// Runs a program to its end.
    ///
    /// - Returns: its output and complaints.
    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await Task.detached {
            let child = try ChildProcess(
                program,
                executable: "/usr/bin/env",
                arguments: [program] + arguments,
                joinsErrors: true
            )
            let output = child.outputToEnd()
            let code = child.wait()
            guard code == 0 else { throw ChildProcess.Failure(description: "\(program), \(code): \(output)") }
            return output
        }.value
    }

    /// The answer to a request of curl: its body, its version of HTTP, and its status.
    private func curl(_ sandbox: RunningSandbox, token: String, _ options: [String]) async throws -> String {
        try await run(
            "curl",
            [
                "--silent", "--show-error", "--cacert", sandbox.pki.authorityFile, "--data", #"{"aps":{}}"#,
                "--write-out", "|%{http_version} %{http_code}",
            ] + options + ["https://127.0.0.1:\(sandbox.server.ports.api)/3/device/\(token)"]
        )
    }

    @Test("With curl one sends with a certificate and with a provider token, and is told what is wrong")
    func curl() async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let good = try token(sandbox, 1)
            let certificate = ["--http2", "--cert", sandbox.pki.pemFile(bundleID: Self.topic)]
            #expect(try await curl(sandbox, token: good, certificate) == "|2 200")
            let bad = try await curl(sandbox, token: Self.badToken, certificate)
            #expect(bad == #"{"reason":"BadDeviceToken"}|2 400"#)

            let authorization = try sandbox.authorization(issuedAt: Self.clock())
            let topic = ["--http2", "--header", "apns-topic: \(Self.topic)"]
            let keyed = topic + ["--header", "authorization: \(authorization)"]
            #expect(try await curl(sandbox, token: good, keyed) == "|2 200")
            #expect(try await curl(sandbox, token: good, topic) == #"{"reason":"MissingProviderToken"}|2 403"#)
            let former = try await curl(sandbox, token: good, ["--http1.1"])
            #expect(former.hasSuffix("|1.1 505") && former.contains("HTTP/2"))
            #expect(try await sandbox.stats()["accepted"] == .integer(2))
        }
    }

    @Test("h2load with a provider token is answered as fast as it asks; what it sends too early is refused, not lost")
    func h2load() async throws {
        try await RunningSandbox.run(clock: Self.clock) { sandbox in
            let authorization = try sandbox.authorization(issuedAt: Self.clock())
            let uris = sandbox.pki.directory + "/uris"
            let lines = try (1...100 as ClosedRange<UInt32>).map {
                "https://127.0.0.1:\(sandbox.server.ports.api)/3/device/\(try token(sandbox, $0))\n"
            }
            try Data(lines.joined().utf8).write(to: URL(filePath: uris))
            let body = sandbox.pki.directory + "/body"
            try Data(Frame.payload(n: 1)).write(to: URL(filePath: body))
            let output = try await run(
                "h2load",
                [
                    "--requests=5000", "--clients=2", "--threads=1", "--max-concurrent-streams=20",
                    "--input-file=\(uris)", "--data=\(body)", "--header=apns-topic: \(Self.topic)",
                    "--header=authorization: \(authorization)",
                ]
            )
            #expect(output.contains("Application protocol: h2"), "\(output)")
            let codes = try #require(output.split(separator: "\n").first { $0.hasPrefix("status codes: ") })
            let succeeded = try #require(codes.dropFirst(14).split(separator: " ").first.flatMap { Int($0) })
            #expect(codes.hasSuffix(" 2xx, 0 3xx, 0 4xx, 0 5xx"), "\(output)")
            // Its first requests leave before the service's settings, which allow one stream, have come.
            #expect((5000 - 2 * 19...5000).contains(succeeded), "\(output)")
            let stats = try await sandbox.stats()
            #expect(stats["accepted"] == .integer(succeeded))
            #expect(stats["distinct"] == .integer(100))
        }
    }
}
