import BenchmarkCommon
import Foundation

/// Publishes the records of a contender, each round going on where the last one ended.
struct RecordSource {
    /// Keys of the bundle, where it is one: many more than partitions, so that these are filled evenly.
    static let spread = 512
    /// Different tokens of records with one.
    static let tokens = 100_000
    private static let requests = "push.requests"

    private let records: ContenderPlan.Records
    private let servers: Servers
    private let brokers: String
    private var fanOut: RequestRecords?
    /// Notifications published so far; the next one's number.
    private(set) var published = 0

    /// - Parameter tokens: of fan-out, 32 bytes each, end to end.
    init(_ records: ContenderPlan.Records, servers: Servers, brokers: String, tokens: [UInt8]) throws {
        self.records = records
        self.servers = servers
        self.brokers = brokers
        guard records == .fanOut else { return }
        fanOut = try RequestRecords(bundle: BenchmarkApp.bundle, tokens: tokens, spread: UInt32(FanOut.spread))
    }

    /// Returns when the broker has acknowledged all records.
    mutating func publish(_ count: Int) throws {
        switch records {
        case .fanOut: try fanOut?.publish(count, brokers: brokers)
        case .single(let haveIDs): try load(count, bundles: 1, haveIDs: haveIDs)
        case .bundles(let bundles): try load(count, bundles: bundles, haveIDs: false)
        }
        published += count
    }

    private func load(_ count: Int, bundles: Int, haveIDs: Bool) throws {
        try servers.run(
            "publisher",
            program: servers.programs.load,
            arguments: [
                "publish", "--brokers", brokers, "--topic", Self.requests, "--bundle", BenchmarkApp.bundle,
                "--bundles", "\(bundles)", "--spread", "\(records.spread ?? 1)", "--tokens", "\(Self.tokens)",
                "--first", "\(published)", "--count", "\(count)", "--request-ids", haveIDs ? "1" : "0",
            ]
        )
    }
}

extension ContenderPlan.Records {
    /// The bundles: of several each has its number behind a hyphen.
    var bundles: [String] {
        guard case .bundles(let count) = self else { return [BenchmarkApp.bundle] }
        return (0..<count).map { "\(BenchmarkApp.bundle)-\($0)" }
    }

    /// The number of a bundle's keys; nil for several bundles, of one key each.
    var spread: Int? {
        switch self {
        case .single: RecordSource.spread
        case .fanOut: FanOut.spread
        case .bundles: nil
        }
    }
}

/// Settings of records with 500 tokens.
enum FanOut {
    static let spread = 128
    /// Of one device each; 2,000 a key.
    static let tokens = 1 << 18
}
