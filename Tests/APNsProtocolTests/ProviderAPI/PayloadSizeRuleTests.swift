import APNsProtocol
import Testing

@Suite("Longest payloads")
struct PayloadSizeRuleTests {
    @Test("The longest payload follows from the push type, or is the same for all requests")
    func longest() {
        let byPushType = PayloadSizeRule.byPushType
        #expect(byPushType.limitBytes(of: nil) == 4096 && byPushType.limitBytes(of: .alert) == 4096)
        #expect(byPushType.limitBytes(of: .voip) == 5120)
        #expect(byPushType.mostBytes == PushType.allCases.map(byPushType.limitBytes).max())
        let limit = PayloadSizeRule.limit(bytes: 300)
        #expect(limit.limitBytes(of: nil) == 300 && limit.limitBytes(of: .voip) == 300 && limit.mostBytes == 300)
    }
}
