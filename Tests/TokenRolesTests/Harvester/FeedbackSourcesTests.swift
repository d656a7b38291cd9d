import APNsProtocol
import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import ProviderCredentials
import PushTopics
import TLSTransport
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles

/// The lists of a harvester whose certificates come and are exchanged while it runs.
@Suite struct FeedbackSourcesTests {
    private static let news = "com.example.news"
    private static let chat = "com.example.chat"
    private static let authority = Result { try CertificateAuthority() }

    /// A directory of certificates, removed with it.
    private final class Files {
        let directory = NSTemporaryDirectory() + "belfry-feedback-\(UUID().uuidString)"
        private let authority: CertificateAuthority

        init() throws {
            authority = try FeedbackSourcesTests.authority.get()
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        func issue(_ bundleID: String) throws {
            try authority.issueClient(bundleID: bundleID, environments: .development)
                .writePEM(to: "\(directory)/\(bundleID).pem")
        }

        func sources() throws -> FeedbackSources {
            var environments = ["sandbox", "silent"].map { EnvironmentSettings(name: $0, gateways: []) }
            environments[0].feedback = HostPort(host: "127.0.0.1", port: 1)
            environments[0].proxy = try ProxySettings(url: "http://127.0.0.1:2")
            return try FeedbackSources(CertificateDirectory(path: directory), environments)
        }
    }

    @Test("A list's connections show the certificate that lies there now, and environments without a service have none")
    func exchanged() throws {
        let files = try Files()
        try files.issue(Self.news)
        let sources = try files.sources()
        let list = try #require(sources.lists().first)
        #expect(sources.lists().count == 1 && list.environment == "sandbox" && list.bundleID == Self.news)
        #expect(list.proxy?.description == "http://127.0.0.1:2")
        let before = list.tls()
        sources.reload()
        #expect(list.tls() === before)
        try files.issue(Self.news)
        sources.reload()
        #expect(list.tls() !== before)
        let exchanged = list.tls()
        try FileManager.default.removeItem(atPath: "\(files.directory)/\(Self.news).pem")
        sources.reload()
        #expect(list.tls() === exchanged && sources.lists().count == 1)
    }

    /// Never answers.
    private final class Silence: BrokerCheck {
        func check(_ answered: @escaping ((any Error)?) -> Void) {}
    }

    @Test("A bundle whose certificate comes later gets its list without a restart, once, behind the others")
    func added() throws {
        let files = try Files()
        try files.issue(Self.news)
        let sources = try files.sources()
        let loop = EmbeddedEventLoop()
        let harvest = FeedbackHarvest(
            eventLoop: loop,
            sources: sources,
            producer: CollectingProducer(),
            redis: SimulatedRedis(on: loop),
            broker: Silence(),
            topic: "push.feedback",
            settings: HarvesterSettings(),
            logger: LogLines().logger
        )
        harvest.start()
        #expect(harvest.lists.map(\.source.bundleID) == [Self.news])
        try files.issue(Self.chat)
        sources.reload()
        loop.advanceTime(by: .seconds(5))
        #expect(harvest.lists.map(\.source.bundleID) == [Self.news, Self.chat])
        try files.issue(Self.news)
        sources.reload()
        loop.advanceTime(by: .seconds(5))
        #expect(harvest.lists.count == 2)
        harvest.close()
    }

    @Test("Tuples that were refused are published again, until the publisher is closed")
    func closed() throws {
        let loop = EmbeddedEventLoop()
        let producer = CollectingProducer()
        let logger = LogLines().logger
        let publisher = FeedbackPublisher(
            eventLoop: loop,
            producer: producer,
            topic: "push.feedback",
            logger: logger
        )
        let files = try Files()
        try files.issue(Self.news)
        let source = try #require(try files.sources().lists().first)
        let tuple = FeedbackTuple(timestamp: 1, token: [1])
        publisher.publish([tuple], of: source, harvestedAt: 1) {}
        let failure = KafkaError(code: -185, name: "_TIMED_OUT", message: "", isRetriable: true, isFatal: false)
        publisher.delivered(0, error: failure)
        loop.advanceTime(by: .seconds(2))
        #expect(producer.records.count == 2)
        publisher.delivered(0, error: failure)
        publisher.close()
        loop.advanceTime(by: .seconds(2))
        publisher.delivered(0, error: failure)
        loop.advanceTime(by: .seconds(2))
        #expect(producer.records.count == 2 && publisher.retries == 2)
    }
}
