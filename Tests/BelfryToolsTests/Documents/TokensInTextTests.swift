import TestSupport
import Testing

/// Device tokens stand in full only where they are the output: everywhere else a hash names them (`TokenHash`).
@Suite struct TokensInTextTests {
    private static let folder = "Sources"

    /// Files that write bytes in hexadecimal, and their reasons.
    private static let writers = [
        "APNsProtocol/ProviderAPI/ProviderPath.swift": "the path of a request",
        "BelfryProducer/RecordContentType+Encoding.swift": "a record in JSON",
        "BelfryTools/Answers/DeadLetterLine.swift": "a letter's value that is no text",
        "BelfryTools/Answers/OutcomeLine.swift": "belfry outcomes",
        "Sandbox/Control/FaultsDocument.swift": "the list of faults, by its devices",
        "Sandbox/Courier/DeviceReport.swift": "the output of a virtual device",
        "Sandbox/Sandbox.swift": "belfry sandbox tokens",
        "TokenState/Buckets/TokenLayout.swift": "the key of the layout, no token",
        "TokenState/Records/TokenReport.swift": "belfry tokens",
        "TokenState/Filter/TombstonePublisher.swift": "the key of a tombstone in Kafka",
    ]

    private func sources() throws -> [(name: String, text: String)] {
        try Repository.paths(endingIn: ".swift", below: Self.folder).map { path in
            (String(path.dropFirst(Self.folder.count + 1)), try Repository.text(of: path))
        }
    }

    @Test("Only files with a reason write bytes in hexadecimal")
    func hexadecimal() throws {
        let found = try sources().filter { $0.text.contains("Hex.encode(") }.map(\.name)
        #expect(Set(found) == Set(Self.writers.keys))
    }

    @Test("A line of metadata that names a token names its hash")
    func metadata() throws {
        let keys = [#""token": "#, #"["token"] = "#]
        var found = 0
        for (name, text) in try sources() {
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                guard keys.contains(where: { line.contains($0) }) else { continue }
                #expect(line.contains("TokenHash.text("), "\(name):\(index + 1)")
                found += 1
            }
        }
        #expect(found >= 4, "the test sees them")
    }
}
