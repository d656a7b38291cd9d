import Foundation
import LocalPipeline
import PushSchemas
import Testing
import Workbench

@testable import TokenState

extension IntegrationTests {
    /// Notifications in parts, from a publisher to devices.
    struct NotificationTests {
        private struct Line: Decodable {
            let payload: String?
        }

        private func device(_ pipeline: LocalPipeline, _ number: Int) throws -> ChildProcess {
            try ChildProcess(
                "device-\(number)",
                executable: try belfryExecutable(),
                arguments: [
                    "sandbox", "device", "--pki", pipeline.pki, "--port", "\(pipeline.devicePort)", "--device",
                    "\(number)", "--topic", news, "--count", "1", "--json",
                ],
                logFile: "\(pipeline.directory)/device-\(number).log",
                leadsGroup: true
            )
        }

        private func line(_ device: ChildProcess) throws -> Line {
            try JSONDecoder().decode(Line.self, from: Data(try device.nextLine(within: patience).utf8))
        }

        @Test("Each device gets the text in its registered language, or the default; one has its own badge")
        func languages() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startWorker()
                try pipeline.startRegistrar()
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 4)
                for (token, locale) in zip(tokens, ["de-AT", "pt-BR", "fr", "de"]) {
                    let hex = token.map { String(format: "%02x", $0) }.joined()
                    _ = try pipeline.run(
                        "register",
                        "--config",
                        pipeline.configurationFile,
                        "--app",
                        news,
                        "--token",
                        hex,
                        "--locale",
                        locale
                    )
                }
                try kafka.wait(for: "registrations") { try inspector.count().registered == tokens.count }
                let devices = try tokens.indices.map { try device(pipeline, $0) }
                defer { for device in devices { device.kill() } }
                // The first line tells the token: the device is there.
                for device in devices { _ = try line(device) }

                var records = Records(tokens: tokens)
                try kafka.deliver(
                    try records.record(to: tokens, asJSON: true) { request in
                        request.notification = PushNotification.with {
                            $0.alert.body = "Goal!"
                            $0.localizations["de"] = PushAlert.with { $0.body = "Tor!" }
                            $0.localizations["pt"] = PushAlert.with { $0.body = "Gol!" }
                            $0.badge.set = 1
                        }
                        request.packedTokens = Data()
                        request.tokens = tokens.map { token in PushDeviceToken.with { $0.raw = Data(token) } }
                        request.tokens[3].badge = 9
                    }
                )
                #expect(kafka.books.count(.presumed) == tokens.count)
                let payloads = try devices.map { try line($0).payload }
                #expect(
                    payloads == [
                        #"{"aps":{"alert":"Tor!","badge":1}}"#, #"{"aps":{"alert":"Gol!","badge":1}}"#,
                        #"{"aps":{"alert":"Goal!","badge":1}}"#, #"{"aps":{"alert":"Tor!","badge":9}}"#,
                    ]
                )
            }
        }
    }
}
