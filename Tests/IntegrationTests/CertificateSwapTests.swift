import BelfrySupport
import Foundation
import LocalPipeline
import TLSTransport
import Testing
import Workbench

extension IntegrationTests {
    /// Certificates that are replaced as a mounted secret is: by a link that leads elsewhere from now on.
    struct CertificateSwapTests {
        @Test(
            "Under load all connections move on to a new certificate: nothing is lost or repeated, order is kept",
            arguments: PipelineTransport.allCases
        )
        func swap(over transport: PipelineTransport) async throws {
            let log = NSTemporaryDirectory() + "belfry-swap-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: log) }
            try await withPipeline { options in
                // Over HTTP/2 the first one has a provider key.
                options.topics = ["com.example.other", news]
                options.transport = transport
                options.sandboxArguments = ["--accepted-log", log]
                options.worker =
                    "{shards: 1, connections-per-topic: 2, confirmation-window: 1s, connections-per-minute: 6000, "
                    + "backoff-base: 100ms}"
            } _: { pipeline, kafka in
                let mount = try CertificateMount(pipeline)
                let first = try mount.swap()
                let worker = try pipeline.startWorker(environment: ["BELFRY_CERTIFICATES_DIRECTORY": mount.path])
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 200))
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(try await pipeline.sandbox.stats().certificates.map { Array($0.keys) } == [first])

                let second = try mount.swap()
                #expect(second != first)
                // Publish until no connection has the old one.
                var certificates: [String: Int] = [:]
                let deadline = ContinuousClock.now + patience
                repeat {
                    try kafka.publish([try records.record(to: records.tokens)])
                    kafka.pump(timeoutMilliseconds: 50)
                    certificates = try await pipeline.sandbox.stats().certificates ?? [:]
                } while (certificates[first] != nil || certificates[second] == nil) && ContinuousClock.now < deadline
                #expect(certificates[first] == nil && certificates[second] ?? 0 >= 1)
                try worker.waitForLogLine(with: "gateway connection is replaced", "credential", within: patience)

                try kafka.waitForOutcomes()
                #expect(pipeline.stopWorkers() == [0])
                let books = kafka.books
                #expect(books.missing == 0 && books.repeated == 0)
                #expect(books.count(.confirmed) + books.count(.presumed) == books.published)
                #expect(transport == .binary || books.count(.presumed) == 0)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == books.published && stats.distinct == books.published)
                try expectOrder(in: log, pipeline, count: books.published)
            }
        }

        @Test(
            "A certificate that the gateway refuses stops nothing while connections show the former one",
            arguments: PipelineTransport.allCases
        )
        func refused(over transport: PipelineTransport) async throws {
            try await withPipeline { options in
                options.topics = ["com.example.other", news]
                options.transport = transport
            } _: { pipeline, kafka in
                let mount = try CertificateMount(pipeline)
                let first = try mount.swap()
                let worker = try pipeline.startWorker(environment: ["BELFRY_CERTIFICATES_DIRECTORY": mount.path])
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 100))
                try kafka.deliver(try records.record(to: records.tokens))

                let stranger = try mount.swap(by: CertificateAuthority())
                try worker.waitForLogLine(with: "certificate-refused", "true", within: patience)
                for _ in 0..<10 { try kafka.publish([try records.record(to: records.tokens)]) }
                try kafka.waitForOutcomes()
                let certificates = try await pipeline.sandbox.stats().certificates ?? [:]
                #expect(certificates[first] == 1 && certificates[stranger] == nil)
                #expect(!worker.log.contains("topic does not work"))

                let second = try mount.swap()
                try await kafka.wait(for: "the next certificate", at: pipeline.sandbox) {
                    $0.certificates == [second: 1]
                }
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.books.missing == 0 && kafka.books.repeated == 0)
                #expect(kafka.books.count(.confirmed) + kafka.books.count(.presumed) == kafka.books.published)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == kafka.books.published && stats.distinct == stats.accepted)
            }
        }

        /// The notifications of each device came in the order of their numbers.
        private func expectOrder(in log: String, _ pipeline: LocalPipeline, count: Int) throws {
            struct Line: Decodable {
                var device: Int
                var n: Int
            }
            pipeline.stopSandbox()
            let lines = try pipeline.run("sandbox", "accepted", log).split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            #expect(lines.count == count)
            for (device, lines) in Dictionary(grouping: lines, by: \.device) {
                #expect(lines.map(\.n) == lines.map(\.n).sorted(), "device \(device)")
            }
        }
    }
}

/// A directory of one certificate as a mounted secret has it: the file is a link through `..data`, which is swapped.
private final class CertificateMount {
    let path: String
    private let authority: CertificateAuthority
    private var version = 0

    init(_ pipeline: LocalPipeline) throws {
        path = "\(pipeline.directory)/mount"
        authority = CertificateAuthority(root: try TLSIdentity(pemFile: "\(pipeline.pki)/ca.key"))
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try link("..data/\(news).pem", at: "\(news).pem")
    }

    /// Puts a new certificate in the place of the former one; returns its serial number.
    ///
    /// - Parameter other: issues it; nil: the authority that the sandbox trusts.
    func swap(by other: CertificateAuthority? = nil) throws -> String {
        version += 1
        let folder = "..version-\(version)"
        try FileManager.default.createDirectory(atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
        let identity = try (other ?? authority).issueClient(bundleID: news)
        try identity.writePEM(to: "\(path)/\(folder)/\(news).pem")
        try link(folder, at: "..next")
        guard rename("\(path)/..next", "\(path)/..data") == 0 else {
            throw ChildProcess.Failure(description: "..data cannot be swapped: \(errno)")
        }
        return identity.certificate.serialHex
    }

    private func link(_ target: String, at name: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
    }
}
