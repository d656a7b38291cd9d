import APNsProtocol
import Foundation
import NIOEmbedded
import Testing

@testable import Sandbox

/// Faults from a file.
struct FaultScriptServerTests {
    private static let second: Int64 = 1_000_000_000

    private let service = PushService(
        configuration: SandboxConfiguration(pkiDirectory: "", topics: ["com.example.a", "com.example.b"], devices: 10),
        tokenKey: TopicFixture.key,
        clock: { TopicFixture.now }
    )

    private static let example = """
        {"seed":7,"steps":[
            {"at":9,"clear":"answer-delay"},
            {"at":1.5,"fault":{"name":"answer-delay","milliseconds":50,"topic":"com.example.a"}},
            {"at":9,"fault":{"name":"refuse-connects"}},
            {"at":10,"clear":true}
        ]}
        """

    private func armed() -> [String] {
        FaultsDocument(of: service).faults.map { "\($0.name) \($0.topic ?? "-")" }
    }

    @Test("Each step is due once, at its time, in the order of time and then of the file")
    func due() throws {
        var script = try FaultScript(json: Array(Self.example.utf8))
        #expect(script.seed == 7)
        #expect(script.steps.map(\.place) == ["steps[1].fault", "steps[0]", "steps[2].fault", "steps[3]"])
        #expect(script.nextAt == Self.second * 3 / 2)
        var ranges = [script.takeDue(now: Self.second * 3 / 2 - 1)]
        for seconds in [2, 9, 9, 60] as [Int64] { ranges.append(script.takeDue(now: seconds * Self.second)) }
        #expect(ranges == [0..<0, 0..<1, 1..<3, 3..<3, 3..<4])
        #expect(script.nextAt == nil)
    }

    @Test("It is carried out as time goes by, and sees to the seed")
    func runs() throws {
        let loop = EmbeddedEventLoop()
        let script = try FaultScript(json: Array(Self.example.utf8))
        try FaultScriptRunner(script, api: ControlAPI(service: service)).start(on: loop)
        #expect(armed() == [])
        loop.advanceTime(by: .milliseconds(1499))
        #expect(armed() == [])
        loop.advanceTime(by: .milliseconds(1))
        #expect(armed() == ["answer-delay com.example.a"])
        loop.advanceTime(by: .seconds(8))
        #expect(armed() == ["refuse-connects -"])
        loop.advanceTime(by: .seconds(1))
        #expect(armed() == [])
        func chances(_ plan: FaultPlan) -> [Bool] {
            var plan = plan
            plan.arm(Fault(.errorResponse(Fault.Refusal(selection: .probability(0.5)))))
            return (0..<64).map { _ in plan.refuses(nil) }
        }
        var expected = service.topics[0].withLedger { $0.faults }
        expected.seed(7)
        #expect(chances(service.topics[0].withLedger { $0.faults }) == chances(expected))
    }

    @Test(
        "What is wrong is named with its step and field",
        arguments: [
            ("x", nil), ("[]", nil), ("{}", "steps"), (#"{"steps":{}}"#, "steps"), (#"{"steps":[1]}"#, "steps[0]"),
            (#"{"steps":[],"seed":-1}"#, "seed"), (#"{"steps":[],"speed":1}"#, "speed"),
            (#"{"steps":[{}]}"#, "steps[0].at"), (#"{"steps":[{"at":-1}]}"#, "steps[0].at"),
            (#"{"steps":[{"at":"1"}]}"#, "steps[0].at"), (#"{"steps":[{"at":1e9}]}"#, "steps[0].at"),
            (#"{"steps":[{"at":1,"clear":true},{"at":1}]}"#, "steps[1].fault"),
            (#"{"steps":[{"at":1,"fault":7}]}"#, "steps[0].fault"),
            (#"{"steps":[{"at":1,"fault":{}}]}"#, "steps[0].fault.name"),
            (#"{"steps":[{"at":1,"fault":{"name":"close-after"}}]}"#, "steps[0].fault.count"),
            (#"{"steps":[{"at":1,"fault":{"clear":true},"clear":true}]}"#, "steps[0].clear"),
            (#"{"steps":[{"at":1,"clear":"flood"}]}"#, "steps[0].clear"),
            (#"{"steps":[{"at":1,"clear":true,"x":1}]}"#, "steps[0].x"),
            (#"{"steps":[{"at":1,"fault":{"clear":true,"topic":"z"}}]}"#, "steps[0].fault.topic"),
            (#"{"steps":[{"at":1,"clear":true,"topic":"z"}]}"#, "steps[0].topic"),
        ] as [(String, String?)]
    )
    func wrong(json: String, field: String?) {
        let error = #expect(throws: ControlError.self) {
            let script = try FaultScript(json: Array(json.utf8))
            _ = try FaultScriptRunner(script, api: ControlAPI(service: service))
        }
        #expect(error?.field == field)
    }

    @Test("A file that is missing or wrong keeps the sandbox from starting, and is named")
    func file() async throws {
        try await RunningSandbox.run { sandbox in
            let file = sandbox.pki.directory + "/script.json"
            func start() async throws {
                var configuration = SandboxConfiguration(
                    pkiDirectory: sandbox.pki.directory,
                    topics: ["com.example.a"],
                    devices: 10
                )
                configuration.faultScript = file
                _ = try await SandboxServer.start(configuration, logger: RunningSandbox.quietLogger)
            }
            var error = await #expect(throws: SandboxSetupError.self) { try await start() }
            #expect(error?.subject == file)
            try Data(#"{"steps":[{"at":0,"fault":{"name":"close-after"}}]}"#.utf8).write(to: URL(filePath: file))
            error = await #expect(throws: SandboxSetupError.self) { try await start() }
            #expect(error?.description == "\(file): steps[0].fault.count is missing")
        }
    }

    @Test("A running sandbox carries its script out")
    func server() async throws {
        let json = #"{"steps":[{"at":0,"fault":{"name":"shutdown-after","count":2,"times":1}}]}"#
        try await RunningSandbox.run(faultScript: json) { sandbox in
            try await sandbox.wait(for: #""name":"shutdown-after""#, at: "/faults")
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            let frames = try (1...3 as ClosedRange<UInt32>).flatMap {
                Frame.command2(identifier: $0, token: try sandbox.token($0))
            }
            provider.send(frames)
            #expect(try await provider.end.get().answer == ErrorResponse(status: .shutdown, identifier: 2))
        }
    }
}
