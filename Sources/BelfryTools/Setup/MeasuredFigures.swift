/// The measurements that plans of capacity rest on. Deploy/CAPACITY.md shows them and says how they were taken.
package enum MeasuredFigures {
    /// One measurement of CPU.
    package struct Scenario: Sendable {
        /// As the document names it.
        package var name: String
        /// Of all threads of the process, for a notification or a token.
        package var cpuMicroseconds: Double

        /// Notifications, or tokens, for a second of one core.
        package var perCoreSecond: Int { Int(1e6 / cpuMicroseconds) }
    }

    package static let single = Scenario(name: "single", cpuMicroseconds: 2.4)
    package static let singleLookup = Scenario(name: "single, each token looked up", cpuMicroseconds: 4.6)
    package static let fanOut = Scenario(name: "fan-out", cpuMicroseconds: 0.6)
    package static let http2 = Scenario(name: "HTTP/2", cpuMicroseconds: 3.3)
    package static let oneLanguage = Scenario(name: "one language", cpuMicroseconds: 1.4)
    package static let twelveLanguages = Scenario(name: "twelve languages", cpuMicroseconds: 1.5)
    package static let publishing = Scenario(name: "publish, a file of lines", cpuMicroseconds: 0.24)

    package static let scenarios = [
        single, singleLookup, fanOut, http2, oneLanguage, twelveLanguages, publishing,
    ]

    /// Of Redis, for a registered token, all overhead included.
    package static let redisBytesPerToken = 64
    /// Of a worker's filter, at most, for a dead token.
    package static let filterBytesPerDeadToken = 22
    /// Of each lane of a process, beside what its configuration bounds: threads, buffers of the Kafka clients.
    package static let otherMemoryBytes = 256 << 20
}
