import Testing

@testable import belfry_chaos

@Suite("The quotas that a chaos run sets")
struct UrgentQuotasTests {
    @Test("Of three apps one is kept warm and two have quotas: a small one, and the load of two seconds")
    func settings() {
        var options = ChaosOptions(executable: "")
        #expect(options.quotas == UrgentQuotas([1: 30, 2: 666]))
        #expect(
            options.apps == [
                "com.example.news": "urgent-warm: true", "com.example.sport": "spread: 4, urgent-quota: 30",
                "com.example.weather": "spread: 4, urgent-quota: 666",
            ]
        )
        options.rate = 1000
        #expect(options.quotas == UrgentQuotas([1: 30, 2: 400]), "four keys, and each has room for any record")
        options.wantsLanes = false
        #expect(options.quotas == UrgentQuotas() && options.apps.isEmpty)
        options.wantsLanes = true
        options.isSoak = true
        #expect(options.quotas == UrgentQuotas() && options.apps.isEmpty)
    }
}
