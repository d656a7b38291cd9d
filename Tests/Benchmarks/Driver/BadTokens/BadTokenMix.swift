import PipelineCore
import PushSchemas
import Workbench

/// The notifications of one run: good tokens, and among them bad ones at random places. Seeded.
///
/// Each distinct bad token occurs ``occurrences`` times. A record holds tokens of one key, none of them twice, so that
/// (token, number of the record) tells every notification from every other.
struct BadTokenMix: Sendable {
    struct Record: Equatable, Sendable {
        /// See `RecordKey`.
        var shard: UInt32
        /// 32 bytes each.
        var tokens: [[UInt8]]
    }

    /// Occurrences of each distinct bad token.
    static let occurrences = 20
    /// Keys of the bundle: several per partition, so that these are filled evenly.
    static let spread: UInt32 = 256
    static let tokensPerRecord = 100

    /// The share of the tokens that each connection of a worker has.
    struct Places: Sendable {
        var bundleID: String
        /// Of push.requests.
        var partitions: Int32
        /// Of the bundle, in each shard of the worker.
        var lanes: Int

        /// All that have tokens, of which a connection has some wholly. Many partitions have none of the keys.
        var all: [Int] {
            Set((0..<BadTokenMix.spread).map(partition)).sorted().flatMap { partition in
                (0..<lanes).map { Int(partition) * lanes + $0 }
            }
        }

        func place(of token: [UInt8]) -> Int {
            token.withUnsafeBytes { bytes in
                let number = partition(ofShard: RecordKey.shard(of: bytes, spread: BadTokenMix.spread))
                return Int(number) * lanes + TokenAffinity(lanes: lanes).lane(checksum: CRC32.checksum(bytes))
            }
        }

        private func partition(ofShard shard: UInt32) -> Int32 {
            KafkaPartitioner.murmur2Partition(key: "\(bundleID)#\(shard)", count: partitions)
        }
    }

    let records: [Record]
    /// Notifications to good tokens.
    let good: Int
    let distinctBad: Int

    var total: Int { good + distinctBad * Self.occurrences }

    /// - Parameters:
    ///   - notifications: in all; the last few that do not make ``occurrences`` of a bad token are good ones.
    ///   - invalidPercent: share of notifications to bad tokens.
    ///   - devices: good tokens, which take turns in a random order.
    ///   - places: those that bad tokens are spread over evenly. The slowest connection ends last, and the bound of the
    ///     benchmark takes them for alike.
    init(seed: UInt64, notifications: Int, invalidPercent: Double, devices: [[UInt8]], places: Places) {
        var random = SeededGenerator(seed: seed)
        distinctBad = Int((Double(notifications) * invalidPercent / 100 / Double(Self.occurrences)).rounded())
        good = notifications - distinctBad * Self.occurrences
        let turns = places.all.shuffled(using: &random)
        let bad = (0..<distinctBad).map { number in
            while true {
                let token = random.bytes(SendRequestView.packedTokenBytes)
                if places.place(of: token) == turns[number % turns.count] { return token }
            }
        }
        // Negative: the place of a bad token.
        var sequence: [Int] = (0..<distinctBad).flatMap { Array(repeating: ~$0, count: Self.occurrences) }
        let order = devices.indices.shuffled(using: &random)
        sequence += (0..<good).map { order[$0 % order.count] }
        sequence.shuffle(using: &random)
        var open = [Record](repeating: Record(shard: 0, tokens: []), count: Int(Self.spread))
        var members = [Set<Int>](repeating: [], count: Int(Self.spread))
        var records: [Record] = []
        func shard(of token: [UInt8]) -> Int {
            Int(token.withUnsafeBytes { RecordKey.shard(of: $0, spread: Self.spread) })
        }
        let goodShards = devices.map(shard)
        let badShards = bad.map(shard)
        func close(_ shard: Int) {
            guard !open[shard].tokens.isEmpty else { return }
            records.append(open[shard])
            open[shard].tokens = []
            members[shard] = []
        }
        for choice in sequence {
            let shard = choice < 0 ? badShards[~choice] : goodShards[choice]
            if open[shard].tokens.count == Self.tokensPerRecord || members[shard].contains(choice) { close(shard) }
            open[shard].shard = UInt32(shard)
            open[shard].tokens.append(choice < 0 ? bad[~choice] : devices[choice])
            members[shard].insert(choice)
        }
        for shard in open.indices { close(shard) }
        self.records = records
    }
}
