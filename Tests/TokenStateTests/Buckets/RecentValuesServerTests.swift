import Testing

@testable import PipelineTestSupport
@testable import TokenState

@Suite struct RecentValuesServerTests {
    @Test("A value that is asked for stays, however many others come, and there are never more than the limit")
    func recent() {
        var values = RecentValues<Int, Int>(limit: 8)
        var made = 0
        func value(of key: Int) -> Int {
            values.value(of: key) {
                made += 1
                return made
            }
        }
        let favourite = value(of: -1)
        for key in 0..<1000 {
            _ = value(of: key)
            let again = value(of: -1)
            #expect(again == favourite)
            #expect(values.count <= 8)
        }
        #expect(made == 1001)
        // Asked for lately.
        _ = value(of: 999)
        #expect(made == 1001)
        // Forgotten.
        _ = value(of: 0)
        #expect(made == 1002)
    }

    @Test("Made-up bundle IDs take no more memory than those of a large provider")
    func bundles() async throws {
        try await withTokenStore { store async throws in
            let count: Int = try await store.table { table, completion in
                for number in 0..<3 * TokenTable.spaceLimit {
                    _ = table.space(environment: TokenStore.environment, bundleID: "com.example.n\(number)")
                }
                completion(.success(table.spaceCount))
            }
            #expect(count <= TokenTable.spaceLimit)
        }
    }

    @Test("A bundle that was forgotten is found again, in as many buckets as it has")
    func forgotten() async throws {
        try await withTokenStore { store async throws in
            let token = [UInt8](1...32)
            _ = try await store.make([.of(token, .register(at: 1, TokenTexts()))])[0].get()
            let _: Bool = try await store.table { table, completion in
                for number in 0..<TokenTable.spaceLimit {
                    _ = table.space(environment: TokenStore.environment, bundleID: "com.example.n\(number)")
                }
                completion(.success(true))
            }
            #expect(try await store.records([token])[0]?.registeredAt == 1)
        }
    }
}
