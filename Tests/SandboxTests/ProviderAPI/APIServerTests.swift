import APNsProtocol
import Foundation
import TLSTransport
import Testing

@testable import Sandbox

/// The provider API over real sockets and TLS.
@Suite(.timeLimit(.minutes(2)))
struct APIServerTests {
    private static let topic = RunningSandbox.topics[0]
    private static let otherTopic = RunningSandbox.topics[1]

    private func call(
        _ sandbox: RunningSandbox,
        device: UInt32 = 1,
        topic: String = topic,
        authorization: String? = nil
    ) throws -> APICall {
        APICall(
            path: ProviderPath.text(token: try sandbox.token(device, topic: topic)),
            headers: ["apns-topic": topic, "authorization": authorization].compactMapValues { $0 },
            body: Frame.payload(n: 1)
        )
    }

    private func identity(_ sandbox: RunningSandbox, topic: String = topic) throws -> TLSIdentity {
        try TLSIdentity(pemFile: sandbox.pki.pemFile(bundleID: topic))
    }

    @Test("A provider with a certificate sends, also to the topics of push types; the counts tell status and reason")
    func certificate() async throws {
        try await RunningSandbox.run { sandbox in
            var wrong = try call(sandbox)
            wrong.path = "/3/device/00"
            let voip = try call(sandbox).with(["apns-topic": Self.topic + ".voip"])
            let foreign = try call(sandbox).with(["apns-topic": Self.otherTopic])
            let replies = try await sandbox.call(
                [call(sandbox), voip, wrong, foreign],
                identity: identity(sandbox)
            )
            #expect(replies.map(\.status) == [200, 200, 400, 400])
            #expect(replies.map(\.reason) == [nil, nil, "BadDeviceToken", "TopicDisallowed"])
            let stats = try await sandbox.stats()
            #expect(stats["accepted"] == .integer(2))
            #expect(stats["rejected"] == .object(["400 BadDeviceToken": .integer(1)]))
            let other = try await sandbox.stats(topic: Self.otherTopic)
            #expect(other["rejected"] == .object(["400 TopicDisallowed": .integer(1)]))
        }
    }

    @Test("A provider without a certificate sends with a token of a key in the PKI directory, with ALPN or without")
    func providerToken() async throws {
        try await RunningSandbox.run { sandbox in
            let calls = [try call(sandbox, authorization: sandbox.authorization()), try call(sandbox)]
            for protocols in [["h2"], ["http/1.1", "h2"], [], ["http/1.1"]] {
                let replies = try await sandbox.call(calls, identity: nil, protocols: protocols)
                #expect(replies.map(\.reason) == [nil, "MissingProviderToken"])
            }
        }
    }

    @Test("A key that is added reaches new connections, with its own topics only")
    func addedKey() async throws {
        try await RunningSandbox.run { sandbox in
            let directory = sandbox.pki.directory
            for (team, topics) in [("OTHERTEAM", [Self.otherTopic]), (Sandbox.defaultTeam, [Self.topic])] {
                try Sandbox.writeCertificates(
                    directory: directory,
                    topics: topics,
                    team: team,
                    withTopicKeys: team == Sandbox.defaultTeam
                )
            }
            let other = try sandbox.authorization(team: "OTHERTEAM")
            let alone = try sandbox.authorization(topic: Self.topic)
            for (authorization, reasons) in [
                (other, ["TopicDisallowed", nil]), (alone, [nil, "TopicDisallowed"]),
            ] {
                let calls = try RunningSandbox.topics.map {
                    try call(sandbox, topic: $0, authorization: authorization)
                }
                #expect(try await sandbox.call(calls, identity: nil).map(\.reason) == reasons)
            }
        }
    }

    @Test("A revoked certificate is refused in the handshake, as by the gateway")
    func revoked() async throws {
        try await RunningSandbox.run { sandbox in
            let identity = try identity(sandbox)
            #expect(try await sandbox.call([call(sandbox)], identity: identity).map(\.status) == [200])
            try Sandbox.revoke(pkiDirectory: sandbox.pki.directory, topics: [Self.topic])
            let provider = try await sandbox.connect(to: sandbox.server.ports.api, identity: identity)
            #expect(try await provider.end.get().isCertificateRefused)
        }
    }

    @Test("A client that speaks HTTP/1.1 gets an answer in it")
    func http1() async throws {
        try await RunningSandbox.run { sandbox in
            let provider = try await sandbox.connect(to: sandbox.server.ports.api, identity: nil)
            provider.send(Array("POST /3/device/00 HTTP/1.1\r\nhost: localhost\r\n\r\n".utf8))
            let answer = String(decoding: try await provider.end.get().bytes, as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 505 "))
            try await sandbox.wait(for: #""connections":{"open":0,"refused":1,"total":1}"#)
        }
    }

    @Test(
        "Faults of connection and stream strike here, too: requests are answered later, or not at all",
        arguments: [
            (#"{"name":"answer-delay","milliseconds":5}"#, 3), (#"{"name":"answer-shuffle","milliseconds":5}"#, 3),
            (#"{"name":"round-trip","milliseconds":5}"#, 3), (#"{"name":"slow-reader","bytesPerSecond":50000}"#, 3),
            (#"{"name":"stall-after","count":1,"milliseconds":5}"#, 3), (#"{"name":"close-after","count":2}"#, 1),
            (#"{"name":"reset-after","count":2}"#, 1), (#"{"name":"shutdown-after","count":2}"#, 2),
            (#"{"name":"goaway-after","count":1}"#, 1), (#"{"name":"stream-limit","count":1}"#, 3),
            (#"{"name":"connection-limit","count":0}"#, 0), (#"{"name":"refuse-certificates"}"#, 0),
        ]
    )
    func faults(fault: String, answers: Int) async throws {
        try await RunningSandbox.run { sandbox in
            #expect(try await sandbox.control("POST", "/faults", fault).status == 200)
            let calls = try (1...3).map { _ in try call(sandbox) }
            let replies = try await sandbox.call(calls, identity: identity(sandbox))
            #expect(replies.map(\.status) == [Int](repeating: 200, count: answers))
            let name = try #require(fault.split(separator: "\"").dropFirst(3).first)
            let stats = try await sandbox.control("GET", "/stats")
            #expect(stats.body.contains("\"\(name)\":") && !stats.body.contains("\"\(name)\":0"))
        }
    }

    @Test("A fault that is switched on reaches connections that are open, and goes again")
    func changedFaults() async throws {
        try await RunningSandbox.run { sandbox in
            #expect(try await sandbox.control("POST", "/faults", #"{"name":"window-stall"}"#).status == 200)
            // The windows suffice for 16 of them; the answers to the rest come when the fault is gone.
            var large = try call(sandbox)
            large.body = [UInt8](repeating: 0x20, count: 4000)
            async let replies = sandbox.call([APICall](repeating: large, count: 20), identity: identity(sandbox))
            try await sandbox.wait(for: #""accepted":16,"#)
            #expect(try await sandbox.control("POST", "/faults", #"{"clear":true}"#).status == 200)
            #expect(try await replies.map(\.status) == [Int](repeating: 200, count: 20))
        }
    }

    @Test("A list of keys that cannot be read is named at the start", arguments: ["nonsense", #"{"keys":[{"id":1}]}"#])
    func badKeyList(content: String) async throws {
        let error = await #expect(throws: SandboxSetupError.self) {
            try await RunningSandbox.run(
                configure: { configuration in
                    let file = DevelopmentPKI(directory: configuration.pkiDirectory).keyListFile
                    try Data(content.utf8).write(to: URL(filePath: file))
                },
                { _ in Issue.record("it has started") }
            )
        }
        #expect(error?.subject.hasSuffix("keys.json") == true)
    }
}
