import APNsProtocol
import TLSTransport
import Testing

@testable import Sandbox

/// Commands 0, 1 and 2 under every setting of the limits, over a real connection.
@Suite(.timeLimit(.minutes(2)))
struct FormatServerTests {
    struct Setting: Sendable, CustomStringConvertible {
        var payloadLimit: Int
        var tokenLimit: Int
        var protocolErrorStatus: Int

        var description: String { "payload \(payloadLimit), token \(tokenLimit), status \(protocolErrorStatus)" }
    }

    static let settings = [256, 2048].flatMap { payload in
        [32, 64, 100].flatMap { token in
            [128, 255].map { Setting(payloadLimit: payload, tokenLimit: token, protocolErrorStatus: $0) }
        }
    }

    /// A notification to send: its sizes, and its answer's status; `nil` = accepted.
    struct Case: Sendable {
        var tokenBytes: Int
        var payloadBytes: Int
        var status: APNsStatus?
    }

    private func cases(_ setting: Setting) -> [Case] {
        var cases = Set([32, 33, 64, 100]).sorted().map { count in
            Case(tokenBytes: count, payloadBytes: 20, status: count <= setting.tokenLimit ? nil : .invalidTokenSize)
        }
        cases.append(Case(tokenBytes: 31, payloadBytes: 20, status: .invalidTokenSize))
        cases.append(Case(tokenBytes: 101, payloadBytes: 20, status: .invalidTokenSize))
        for count in [256, 257, 2048, 2049] {
            let status: APNsStatus? = count <= setting.payloadLimit ? nil : .invalidPayloadSize
            cases.append(Case(tokenBytes: setting.tokenLimit, payloadBytes: count, status: status))
        }
        return cases
    }

    /// A genuine token where there are some of that length.
    private func token(_ count: Int, _ sandbox: RunningSandbox) throws -> [UInt8] {
        guard TokenMint.tokenLengths.contains(count) else { return [UInt8](repeating: 1, count: count) }
        let mint = TokenMint(
            key: try sandbox.pki.tokenKey(),
            environment: .development,
            topic: RunningSandbox.topics[0],
            mintedBytes: count
        )
        return mint.token(of: AppInstance(device: 1))
    }

    private func frame(command: UInt8, token: [UInt8], payloadBytes: Int) -> [UInt8] {
        let payload = Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: payloadBytes - 8) + Array("\"}".utf8)
        func sized(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes }
        switch command {
        case 0: return [0] + sized(token) + sized(payload)
        case 1: return [1, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF] + sized(token) + sized(payload)
        default: return Frame.command2(identifier: 1, token: token, payload: payload)
        }
    }

    @Test(
        "Every command, token length and payload size is accepted or refused as the settings say",
        arguments: settings
    )
    func table(setting: Setting) async throws {
        try await RunningSandbox.run(
            configure: { configuration in
                try configuration.setFormats(
                    payloadLimitBytes: setting.payloadLimit,
                    tokenLimitBytes: setting.tokenLimit,
                    protocolErrorStatus: setting.protocolErrorStatus
                )
            },
            { sandbox in
                var accepted = 0
                for command in [0, 1, 2] as [UInt8] {
                    for item in cases(setting) {
                        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
                        let token = try token(item.tokenBytes, sandbox)
                        provider.send(
                            frame(command: command, token: token, payloadBytes: item.payloadBytes)
                                + Frame.sentinel(identifier: 2)
                        )
                        let answer = try await provider.end.get().answer
                        if let status = item.status {
                            // The simple command knows no errors: the gateway just closes [10].
                            let refusal = command == 0 ? nil : ErrorResponse(status: status, identifier: 1)
                            #expect(answer == refusal, "command \(command), \(item)")
                        } else {
                            accepted += 1
                            #expect(answer?.identifier == 2, "command \(command), \(item)")
                        }
                    }
                }
                #expect(try await sandbox.stats()["accepted"] == .integer(accepted))
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
                provider.send([9, 9, 9])
                let status = APNsStatus(rawValue: UInt8(setting.protocolErrorStatus))
                #expect(try await provider.end.get().answer == ErrorResponse(status: status, identifier: 0))
            }
        )
    }

    @Test(
        "The feedback service names an app by the token its provider used, whatever its length",
        arguments: [32, 64, 100]
    )
    func feedback(count: Int) async throws {
        try await RunningSandbox.run(
            configure: { try $0.setFormats(tokenLimitBytes: 100) },
            { sandbox in
                let token = try token(count, sandbox)
                let hex = Hex.encode(token)
                let topic = RunningSandbox.topics[0]
                let change = #"{"topic":"\#(topic)","tokens":["\#(hex)"],"state":"uninstalled"}"#
                #expect(try await sandbox.control("POST", "/devices", change).status == 200)
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
                provider.send(Frame.command2(identifier: 1, token: token) + Frame.sentinel(identifier: 2))
                #expect(try await provider.end.get().answer?.identifier == 2)
                let reader = try await sandbox.connect(to: sandbox.server.ports.feedback)
                let tuple = FeedbackTuple(timestamp: TopicFixture.now, token: token)
                #expect(try await reader.end.get().bytes == tuple.encoded)
            }
        )
    }

    @Test("A setting that the interface does not know is named")
    func wrongSettings() {
        let table: [(String, (inout SandboxConfiguration) throws -> Void)] = [
            ("payload-limit: 512, 256 or 2048 is expected", { try $0.setFormats(payloadLimitBytes: 512) }),
            ("payload-limit: -1, 256 or 2048 is expected", { try $0.setFormats(payloadLimitBytes: -1) }),
            ("token-limit: 31, 32 to 100 are possible", { try $0.setFormats(tokenLimitBytes: 31) }),
            ("token-limit: 101, 32 to 100 are possible", { try $0.setFormats(tokenLimitBytes: 101) }),
            ("protocol-error-status: 1, 128 or 255 is expected", { try $0.setFormats(protocolErrorStatus: 1) }),
            ("protocol-error-status: 384, 128 or 255 is expected", { try $0.setFormats(protocolErrorStatus: 384) }),
        ]
        for (text, change) in table {
            var configuration = SandboxConfiguration(pkiDirectory: "", topics: ["a"], devices: 1)
            let error = #expect(throws: SandboxSetupError.self) { try change(&configuration) }
            #expect(error?.description == text)
            #expect(configuration.gatewayLimits == GatewayLimits(), "and nothing is changed")
        }
    }

    @Test("Limits for tokens that cannot be minted are named at start", arguments: [33...33, 32...101])
    func impossibleTokens(lengths: ClosedRange<Int>) async {
        let error = await #expect(throws: SandboxSetupError.self) {
            try await RunningSandbox.run(
                configure: { $0.gatewayLimits = GatewayLimits(tokenBytes: lengths) },
                { _ in }
            )
        }
        #expect(error?.subject == "token-limit")
    }

    @Test("Tokens of lengths that there are none of cannot be printed", arguments: [31, 101, -1])
    func wrongTokenLength(count: Int) {
        let error = #expect(throws: SandboxSetupError.self) {
            try Sandbox.forEachToken(pkiDirectory: "", topic: "a", first: 0, count: 1, tokenBytes: count) { _ in }
        }
        #expect(error?.subject == "token-bytes")
    }
}
