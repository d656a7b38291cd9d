import TokenState

extension TokenBooks {
    /// Something in Redis that no role can have written there.
    package struct StrangeState: Error, CustomStringConvertible {
        package let description: String
    }

    /// The states of all tokens of the stream's topics of which Redis knows something.
    ///
    /// - Throws: ``StrangeState``; the error of Redis.
    package func states(redisURL: String, environment: String) throws -> [DevicePlace: TokenFate] {
        let inspector = try TokenInspector(redisURL: redisURL)
        defer { inspector.close() }
        var states: [DevicePlace: TokenFate] = [:]
        for topic in stream.topics {
            let unreadable = try inspector.walk(environment: environment, bundleID: topic) { page, _ in
                for report in page {
                    guard let place = place(of: report.token) else {
                        let name = report.hexToken
                        throw StrangeState(description: "Redis has a token of \(topic) that no device has: \(name)")
                    }
                    states[place] = TokenFate(report)
                }
                return true
            }
            guard unreadable == 0 else {
                throw StrangeState(description: "\(unreadable) token records of \(topic) cannot be read")
            }
        }
        return states
    }
}

extension TokenFate {
    fileprivate init(_ report: TokenReport) {
        self.init(
            registeredAt: report.registeredAt,
            tombstonedAt: report.tombstonedAt,
            reason: report.reason,
            locale: report.locale
        )
    }
}
