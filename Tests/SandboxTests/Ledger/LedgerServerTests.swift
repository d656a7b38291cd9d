import APNsProtocol
import Foundation
import Testing

@testable import Sandbox

/// Quality of service of a running sandbox.
struct LedgerServerTests {
    /// Asks until a count is what it should become.
    private func wait(_ sandbox: RunningSandbox, for field: String, toBe value: Int) async throws {
        while try await sandbox.stats()[field] != .integer(value) {}
    }

    private func send(_ sandbox: RunningSandbox, _ frames: [UInt8]) async throws {
        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
        provider.send(frames + Frame.sentinel(identifier: 99))
        #expect(try await provider.end.get().answer?.identifier == 99)
    }

    @Test("Held notifications are delivered at the power-saving time, without a request")
    func powerSaving() async throws {
        var ledger = LedgerConfiguration()
        ledger.powerSavingInterval = 0.01
        try await RunningSandbox.run(ledger: ledger) { sandbox in
            let frames = try (0..<50).flatMap {
                Frame.command2(identifier: 1, token: try sandbox.token($0), priority: .powerSaving)
            }
            try await send(sandbox, frames)
            try await wait(sandbox, for: "delivered", toBe: 50)
            #expect(try await sandbox.stats()["held"] == .integer(0))
        }
    }

    @Test("Devices change by themselves while the sandbox runs")
    func churn() async throws {
        try await RunningSandbox.run { sandbox in
            let rates = #"{"topic":"com.example.a","rates":{"removed":3600}}"#
            #expect(try await sandbox.control("POST", "/population", rates).status == 200)
            func removed() async throws -> Int {
                guard case .object(let devices)? = try await sandbox.stats()["devices"],
                    case .integer(let count)? = devices["removed"]
                else { return 0 }
                return count
            }
            while try await removed() == 0 {}
            #expect(try await removed() > 0)
        }
    }

    @Test("Every acceptance is in the file, the last ones too, and the running sandbox tells the same")
    func acceptedLog() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var ledger = LedgerConfiguration()
        ledger.acceptedLogFile = path
        try await RunningSandbox.run(ledger: ledger) { sandbox in
            let frames = try (0..<200).flatMap { number in
                Frame.command2(identifier: 1, token: try sandbox.token(UInt32(number % 3)), n: number)
            }
            try await send(sandbox, frames)
            let answer = try await sandbox.control("GET", "/accepted?topic=com.example.a&device=1")
            let marks = stride(from: 1, to: 200, by: 3).map(String.init).joined(separator: ",")
            let expected = #"{"accepted":[\#(marks)],"complete":true,"device":1,"topic":"com.example.a"}"#
            #expect(answer.body == expected)
            #expect(try await sandbox.control("GET", "/stats").body.hasPrefix(#"{"acceptedLogDropped":0,"#))
        }
        var lines: [String] = []
        try Sandbox.forEachAcceptance(file: path) { lines.append($0) }
        let expected = (0..<200).map { number in
            #"{"topic":"com.example.a","device":\#(number % 3),"generation":0,"n":\#(number),"#
                + #""time":"1970-01-12T13:46:40.000Z"}"#
        }
        #expect(lines == expected)
    }

    @Test("What was accepted since the last time is written when the recorder stops")
    func lastRecords() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "accepted-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: [TopicFixture.topic], devices: 10)
        configuration.ledger.acceptedLogFile = path
        let service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { 5 })
        let logger = RunningSandbox.quietLogger
        let recorder = try AcceptedRecorder(path: path, service: service, logger: logger, interval: .hours(1))
        let mint = service.mint(for: service.topics[0])
        var session = GatewaySession(limits: service.gatewayLimits)
        let action = Frame.command2(identifier: 1, token: mint.token(of: AppInstance(device: 3)), n: 4)
            .withUnsafeBytes { bytes in
                service.topics[0].withLedger { session.receive(bytes, mint: mint, ledger: &$0, now: 5) }
            }
        #expect(action == .read)
        try await recorder.stop()
        var lines: [String] = []
        try Sandbox.forEachAcceptance(file: path) { lines.append($0) }
        let time = "1970-01-01T00:00:05.000Z"
        #expect(lines == [#"{"topic":"com.example.news","device":3,"generation":0,"n":4,"time":"\#(time)"}"#])
        #expect(service.acceptedLogDropped == 0)
    }

    @Test("A file of acceptances that cannot be opened keeps the sandbox from starting")
    func unusableLog() async throws {
        let error = await #expect(throws: SandboxSetupError.self) {
            var ledger = LedgerConfiguration()
            ledger.acceptedLogFile = "/nowhere/log"
            try await RunningSandbox.run(ledger: ledger) { _ in }
        }
        #expect(error?.subject == "/nowhere/log")
    }
}
