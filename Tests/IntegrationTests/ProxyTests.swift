import Foundation
import LocalPipeline
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// Roles whose only way to the push service is a proxy: tinyproxy.
    struct ProxyTests {
        /// The variable that names a file with the proxy's URL.
        private func variables(
            _ proxy: TinyProxyProcess,
            _ login: String,
            _ pipeline: LocalPipeline
        ) throws -> [String: String] {
            let file = "\(pipeline.directory)/proxy-url"
            try "http://\(login)@127.0.0.1:\(proxy.port)\n".write(toFile: file, atomically: true, encoding: .utf8)
            return ["BELFRY_ENVIRONMENTS_SANDBOX_PROXY_FILE": file]
        }

        @Test(
            "Through a proxy with a login everything is sent, over both interfaces, and no log has the password",
            arguments: PipelineTransport.allCases
        )
        func sends(transport: PipelineTransport) async throws {
            try await withPipeline {
                $0.transport = transport
            } _: { pipeline, kafka in
                let gateway = transport == .http2 ? pipeline.api : pipeline.gateway
                let proxy = try TinyProxyProcess(login: ("me", "sesame"))
                let worker = try pipeline.startWorker(environment: try variables(proxy, "me:sesame", pipeline))
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 200))
                try kafka.deliver(try records.record(to: records.tokens))
                try proxy.waitForLine(with: "CONNECT \(gateway) ")
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == 200 && stats.distinct == 200 && kafka.books.missing == 0)
                #expect(pipeline.stopWorkers() == [0])
                #expect(!worker.log.contains("sesame"))
            }
        }

        @Test("A proxy that refuses the password is told by worker and harvester as what it is, without the password")
        func refused() async throws {
            try await withPipeline { pipeline, kafka in
                let proxy = try TinyProxyProcess(login: ("me", "sesame"))
                let environment = try variables(proxy, "me:hush-hush", pipeline)
                let worker = try pipeline.startWorker(environment: environment)
                let harvester = try pipeline.startHarvester(environment: environment)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.publish([try records.record(to: records.tokens)])
                try worker.waitForLogLine(with: "it lags and is probed", "proxy-refused", within: patience)
                try worker.waitForLogLine(with: "refuses the configured user and password", within: patience)
                try harvester.waitForLogLine(with: "feedback could not be read", "proxy-refused", within: patience)
                #expect(!(worker.log + harvester.log).contains("hush-hush"))
                #expect(pipeline.stopWorkers() == [0])
            }
        }
    }
}
