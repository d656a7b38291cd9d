import Foundation
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    /// `belfry sandbox device` as a process.
    struct DeviceCommandTests {
        private struct Line: Decodable {
            let topic: String
            let token: String?
            let payload: String?
            let priority: Int?
            let received: String?
        }

        private func device(_ pipeline: LocalPipeline, _ arguments: String...) throws -> ChildProcess {
            try ChildProcess(
                "device",
                executable: try belfryExecutable(),
                arguments: ["sandbox", "device", "--pki", pipeline.pki, "--port", "\(pipeline.devicePort)"] + arguments,
                logFile: "\(pipeline.directory)/device.log",
                leadsGroup: true
            )
        }

        private func line(_ process: ChildProcess) throws -> Line {
            try JSONDecoder().decode(Line.self, from: Data(try process.nextLine(within: patience).utf8))
        }

        @Test("What is published for a device's token is printed by the device, and after --count it ends with 0")
        func published() async throws {
            try await withPipeline { pipeline, _ in
                try pipeline.startWorker()
                let device = try device(pipeline, "--device", "7", "--topic", news, "--count", "1", "--json")
                defer { device.kill() }
                let token = try #require(try line(device).token)
                let payload = #"{"aps":{"alert":"Hello"}}"#
                _ = try pipeline.run(
                    "publish",
                    "--config",
                    pipeline.configurationFile,
                    "--app",
                    news,
                    "--token",
                    token,
                    "--payload",
                    payload
                )
                let arrived = try line(device)
                #expect(arrived.topic == news)
                #expect(arrived.token == token)
                #expect(arrived.payload == payload)
                #expect(arrived.priority == 10)
                #expect(arrived.received?.hasSuffix("Z") == true)
                #expect(try device.wait(within: patience) == 0, "\(device.log)")
            }
        }

        @Test("A refused token ends it with 1, wrong arguments with 64, a missing PKI with 78, SIGTERM with 0")
        func exitCodes() async throws {
            try await withPipeline { pipeline, _ in
                let foreign = try pipeline.run(
                    "sandbox",
                    "tokens",
                    "--pki",
                    pipeline.pki,
                    "--topic",
                    news,
                    "--first",
                    "8",
                    "--count",
                    "1"
                ).split(separator: "\n")
                let refused = try device(
                    pipeline,
                    "--device",
                    "7",
                    "--topic",
                    news,
                    "--token",
                    String(try #require(foreign.first))
                )
                defer { refused.kill() }
                #expect(try refused.wait(within: patience) == 1)
                #expect(refused.log.contains("not one of device 7"), "\(refused.log)")

                let usage = try device(pipeline, "--device", "7", "--topic", news, "--restore", "--wipe")
                defer { usage.kill() }
                #expect(try usage.wait(within: patience) == 64)

                let nowhere = try ChildProcess(
                    "device",
                    executable: try belfryExecutable(),
                    arguments: [
                        "sandbox", "device", "--pki", pipeline.directory + "/none", "--device", "7", "--topic", news,
                    ],
                    logFile: "\(pipeline.directory)/nowhere.log",
                    leadsGroup: true
                )
                defer { nowhere.kill() }
                #expect(try nowhere.wait(within: patience) == 78)
                #expect(nowhere.log.contains("ca.key"), "\(nowhere.log)")

                let stopped = try device(pipeline, "--device", "7", "--topic", news)
                defer { stopped.kill() }
                #expect(try stopped.nextLine(within: patience).hasPrefix("\(news)  token  "))
                #expect(stopped.terminate() == 0)
            }
        }
    }
}
