import BelfryProducer
import Foundation
import KafkaClient
import PushSchemas
import RequestRules
import Testing

// The example in Schemas/README.md, word for word.

/// Returns the number of records.
func announce(_ text: String, to tokens: [Data], brokers: String) async throws(ProducerError) -> Int {
    let producer = try await PushProducer(ProducerConfiguration(brokers: brokers))
    var news = PushBundle(id: "com.example.news")
    news.spread = 4  // as in the workers' configuration
    let request = PushSendRequest.with {
        $0.requestID = UUID().uuidString
        $0.notification.alert.body = text
        $0.packedTokens = Data(tokens.joined())
    }
    do throws(ProducerError) {
        let records = try await producer.publish(request, to: news)
        await producer.close()
        return records.count
    } catch {
        // Or .notDelivered, with the tokens that may lack the notification.
        if case .refused(let faults) = error { print(faults) }
        await producer.close()
        throw error
    }
}

/// End of the example.
@Suite("The example for Swift")
struct ExampleTests {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("It stands in the document as it is compiled here")
    func document() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let begin = try #require(source.range(of: "/// Returns the number of records.\n"))
        let end = try #require(source.range(of: "\n/// End of the example.\n"))
        let example = source[begin.lowerBound..<end.lowerBound]
        let document = try String(contentsOf: Self.repository.appending(path: "Schemas/README.md"), encoding: .utf8)
        let imports = "import BelfryProducer\nimport Foundation\nimport PushSchemas\n"
        #expect(document.contains("```swift\n\(imports)\n\(example)```"))
        let package = Self.repository.appending(path: "Tests/ProducerPackage/Sources/announce/Announce.swift")
        #expect(try String(contentsOf: package, encoding: .utf8).contains(example))
    }

    @Test("The example publishes, and tells mistakes")
    func publishes() async throws {
        let broker = try EmbeddedBroker(topics: [("push.requests", 4)])
        defer { broker.close() }
        let tokens = (0..<100).map { Data(repeating: UInt8($0), count: 32) }
        let records = try await announce("Goal", to: tokens, brokers: broker.bootstrapServers)
        #expect((1...4).contains(records))
        let error = await #expect(throws: ProducerError.self) {
            try await announce(String(repeating: "x", count: 5000), to: tokens, brokers: broker.bootstrapServers)
        }
        guard case .refused(let faults) = error else { throw try #require(error) }
        #expect(faults.map(\.refusal.reason) == ["payload-invalid"])
    }

    /// Packages that depend on it would be built with them, or refused: that depends on the package manager.
    @Test("The product has every module of its interface, and nothing that it needs has unsafe flags")
    func flags() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["swift", "package", "--package-path", Self.repository.path(), "dump-package"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let json = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let manifest = try JSONDecoder().decode(Manifest.self, from: json)
        let targets = Dictionary(uniqueKeysWithValues: manifest.targets.map { ($0.name, $0) })
        var needed: Set<String> = []
        var next = manifest.products.first { $0.name == "BelfryProducer" }?.targets ?? []
        #expect(next == ["BelfryProducer", "PushSchemas", "RequestLanes", "RequestRules"])
        while let name = next.popLast() {
            guard let target = targets[name], needed.insert(name).inserted else { continue }
            next += target.dependencies.compactMap(\.name)
        }
        #expect(needed.isSuperset(of: ["APNsProtocol", "BelfryProducer", "CRdKafka", "KafkaClient", "RequestRules"]))
        let unsafe = Set(manifest.targets.filter(\.hasUnsafeFlags).map(\.name))
        #expect(unsafe.contains("Sender"), "the check finds those that there are")
        #expect(needed.isDisjoint(with: unsafe))
    }

    private struct Manifest: Decodable {
        struct Product: Decodable {
            var name: String
            var targets: [String]
        }

        struct Target: Decodable {
            var name: String
            var dependencies: [Dependency]
            var settings: [Setting]

            var hasUnsafeFlags: Bool { settings.contains { $0.kind["unsafeFlags"] != nil } }
        }

        struct Dependency: Decodable {
            /// Nil: a product of another package.
            var name: String?

            private enum Key: String, CodingKey {
                case byName, target
            }

            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: Key.self)
                for key in [Key.byName, .target] where values.contains(key) {
                    var list = try values.nestedUnkeyedContainer(forKey: key)
                    name = try list.decode(String.self)
                }
            }
        }

        struct Setting: Decodable {
            var kind: [String: Value]
        }

        /// Of any kind.
        struct Value: Decodable {
            init(from decoder: any Decoder) {}
        }

        var products: [Product]
        var targets: [Target]
    }
}
