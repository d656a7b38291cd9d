import Foundation
import TestSupport
import Testing

@testable import BelfrySupport

/// The configuration that the front page shows to users who want to reach real devices.
struct FrontPageTests {
    private static let page = Repository.top.appending(path: "README.md")

    @Test("Ten lines of configuration send to Apple's provider API with a key, and need nothing else")
    func configuration() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.firstRange(of: "```yaml\n")).upperBound
        let end = try #require(text[start...].firstRange(of: "```")).lowerBound
        let yaml = String(text[start..<end])
        #expect(yaml.count { $0.isNewline } <= 10)
        let configuration = try BelfryConfiguration.load(yaml: yaml, file: "README.md", directory: nil, variables: [:])
        let production = try #require(configuration.environment(named: "production"))
        #expect(production.transport == .http2)
        #expect(production.gateways.map(\.description) == ["api.push.apple.com:443"])
        #expect(configuration.keys.directory != nil && configuration.keys.team == "TEAM123456")
    }
}
