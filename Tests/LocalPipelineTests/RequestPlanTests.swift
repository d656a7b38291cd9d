import Foundation
import Testing

@testable import LocalPipeline

struct RequestPlanTests {
    /// A record in JSON, as far as the tests need it.
    private struct Request: Decodable {
        struct Notification: Decodable {
            var localizations: [String: [String: String]]
            var badge: [String: Int]
        }

        struct Token: Decodable {
            var raw: Data
        }

        var notification: Notification
        var tokens: [Token]?
        var packedTokens: Data?
    }

    private static let tokens: [[UInt8]] = (0..<60).map { [UInt8](repeating: $0, count: 31) + [1] }

    private static func records(isLocalized: Bool) -> [PlannedRecord] {
        var plan = RequestPlan(seed: 1, firstNumber: 0, now: 1_000_000)
        let topic = RequestPlan.Topic(
            bundleID: "com.example.news",
            living: tokens,
            uninstalled: [],
            isLocalized: isLocalized
        )
        return plan.good(100, of: topic, from: tokens) + plan.invalidTokens(2, of: topic)
    }

    @Test("A localized topic's records are notifications in parts, and name each token to whose badge they add")
    func localized() throws {
        let records = Self.records(isLocalized: true)
        #expect(records.reduce(0) { $0 + $1.counted.count } == 102)
        let readable = records.filter(\.isJSON)
        #expect(!readable.isEmpty)
        for record in readable {
            let request = try JSONDecoder().decode(Request.self, from: Data(record.value))
            let languages = PlannedLanguage.allCases.map(\.rawValue)
            #expect(Set(request.notification.localizations.keys) == Set(languages + ["default"]))
            #expect(request.notification.badge == ["add": 1])
            let tokens = (request.tokens ?? []).map(\.raw)
            #expect(Data(record.counted.joined()) == request.packedTokens ?? Data(tokens.joined()))
        }
    }

    @Test("Records of other topics count for no badge")
    func plain() {
        #expect(Self.records(isLocalized: false).allSatisfy { $0.counted.isEmpty })
    }

    @Test("Each language has a title of its own, and devices of each are among the tokens")
    func languages() {
        #expect(Set(PlannedLanguage.allCases.map(\.title) + [PlannedLanguage.otherTitle]).count == 4)
        #expect(Set(Self.tokens.map { PlannedLanguage(of: $0) }).count == PlannedLanguage.allCases.count)
    }
}
