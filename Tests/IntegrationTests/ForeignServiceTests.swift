import Foundation
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    /// The worker and servers of HTTP/2 that are not ours: nghttp2's.
    struct ForeignServiceTests {
        /// Starts a server of nghttp2, with the certificate of the pipeline's authority.
        private func start(_ name: String, _ pipeline: LocalPipeline, _ arguments: String...) throws -> ChildProcess {
            let identity = "\(pipeline.pki)/server.pem"
            return try ChildProcess(
                name,
                executable: "/usr/bin/env",
                arguments: [name] + arguments + [identity, identity],
                logFile: "\(pipeline.directory)/\(name).log",
                leadsGroup: true
            )
        }

        @Test("A server of nghttp2 answers 200 to each request: all are confirmed, whatever body comes with it")
        func nghttpd() async throws {
            let port = try freePort()
            try await withPipeline { options in
                options.transport = .http2
                options.gateway = "127.0.0.1:\(port)"
            } _: { pipeline, kafka in
                let server = try start(
                    "nghttpd",
                    pipeline,
                    "--echo-upload",
                    "--max-concurrent-streams=10",
                    "--address=127.0.0.1",
                    "\(port)"
                )
                defer { server.terminate() }
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 500))
                try kafka.deliver(try records.record(to: records.tokens), try records.record(to: records.tokens))
                #expect(kafka.books.count(.confirmed) == 1000 && kafka.books.missing == 0)
                #expect(pipeline.stopWorkers() == [0])
                #expect(!worker.log.contains("PROTOCOL_ERROR") && !worker.log.contains("broke the HTTP/2 protocol"))
            }
        }

        @Test("A host that is no push service answers 404 without a reason: nothing is refused for good")
        func wrongHost() async throws {
            let port = try freePort()
            try await withPipeline { options in
                options.transport = .http2
                options.gateway = "127.0.0.1:\(port)"
            } _: { pipeline, kafka in
                let server = try start(
                    "nghttpd",
                    pipeline,
                    "--address=127.0.0.1",
                    "--htdocs=\(pipeline.directory)",
                    "\(port)"
                )
                defer { server.terminate() }
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 50))
                try kafka.publish([try records.record(to: records.tokens)])
                try worker.waitForLogLine(with: "it lags and is probed", "service-trouble", within: patience)
                #expect(pipeline.stopWorkers() == [0])
                kafka.pump()
                #expect(kafka.books.missing == 50 && kafka.books.outcomes.isEmpty)
            }
        }

        @Test("Behind nghttpx the sandbox accepts everything once, with a provider token, which a proxy lets through")
        func nghttpx() async throws {
            let port = try freePort()
            try await withPipeline { options in
                options.transport = .http2
                options.gateway = "127.0.0.1:\(port)"
            } _: { pipeline, kafka in
                let api = pipeline.api.replacing(":", with: ",")
                let server = try start(
                    "nghttpx",
                    pipeline,
                    "--conf=/dev/null",
                    "--frontend=127.0.0.1,\(port)",
                    "--backend=\(api);;proto=h2;tls;sni=localhost",
                    "--insecure",
                    "--no-ocsp"
                )
                defer { server.terminate() }
                try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 500))
                try kafka.deliver(try records.record(to: records.tokens), try records.record(to: records.tokens))
                #expect(kafka.books.count(.confirmed) == 1000 && kafka.books.missing == 0)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == 1000 && stats.distinct == 1000 && stats.rejected.isEmpty)
                #expect(pipeline.stopWorkers() == [0])
            }
        }
    }
}
