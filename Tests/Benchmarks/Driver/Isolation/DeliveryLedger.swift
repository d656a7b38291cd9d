/// The notifications of one topic: when each was published, and whether and when the gateway took it.
///
/// A record holds tokens of consecutive devices of one partition. Times are nanoseconds of one clock. Pure.
struct DeliveryLedger: Sendable {
    /// One notification, from the call that published it to its first acceptance.
    struct Sample: Equatable, Sendable {
        var sent: Int64
        var accepted: Int64

        var nanoseconds: Int64 { accepted - sent }
    }

    private struct Record {
        var sent: Int64
        var firstDevice: UInt32
    }

    /// Devices of each partition; device `d` belongs to partition `d / devicesPerPartition`.
    let devicesPerPartition: Int
    let tokensPerRecord: Int
    /// Tokens that the gateway takes: of a notification to another one nothing is expected.
    let isGood: @Sendable (UInt32) -> Bool

    private(set) var samples: [Sample] = []
    /// Good notifications published.
    private(set) var published = 0
    /// Good notifications accepted at least once.
    private(set) var distinct = 0
    /// Acceptances beyond the first.
    private(set) var duplicates = 0
    /// First acceptances behind that of a newer notification to the same device.
    private(set) var disordered = 0
    /// Acceptances of what was never published.
    private(set) var strange = 0
    private(set) var lastAcceptance: Int64?

    private let keepsSamples: Bool
    private var records: [Record] = []
    /// One bit a notification.
    private var seen: [UInt64] = []
    /// By device: one more than the newest record that was accepted.
    private var newest: [UInt32]
    private var interruption: Int64?
    private var resumptions: [Int64?]

    /// - Parameter keepsSamples: 16 bytes for each notification.
    init(
        partitions: Int,
        devicesPerPartition: Int,
        tokensPerRecord: Int,
        keepsSamples: Bool,
        isGood: @escaping @Sendable (UInt32) -> Bool = { _ in true }
    ) {
        self.devicesPerPartition = devicesPerPartition
        self.tokensPerRecord = tokensPerRecord
        self.keepsSamples = keepsSamples
        self.isGood = isGood
        newest = Array(repeating: 0, count: partitions * devicesPerPartition)
        resumptions = Array(repeating: nil, count: partitions)
    }

    /// Good notifications that have not been accepted.
    var outstanding: Int { published - distinct }

    /// Notes a record that is about to be published; returns its number, from 0.
    mutating func publish(firstDevice: UInt32, now: Int64) -> UInt32 {
        let number = UInt32(records.count)
        records.append(Record(sent: now, firstDevice: firstDevice))
        let words = (records.count * tokensPerRecord + 63) / 64
        if seen.count < words { seen.append(contentsOf: repeatElement(0, count: max(1024, words - seen.count))) }
        for device in firstDevice..<firstDevice + UInt32(tokensPerRecord) where isGood(device) { published += 1 }
        return number
    }

    /// Notes that the gateway accepted a notification.
    mutating func accept(record number: UInt32, device: UInt32, now: Int64) {
        guard Int(number) < records.count, Int(device) < newest.count else {
            strange += 1
            return
        }
        let record = records[Int(number)]
        guard device >= record.firstDevice, device - record.firstDevice < UInt32(tokensPerRecord), isGood(device)
        else {
            strange += 1
            return
        }
        lastAcceptance = now
        let bit = Int(number) * tokensPerRecord + Int(device - record.firstDevice)
        guard seen[bit / 64] & 1 << UInt64(bit % 64) == 0 else {
            duplicates += 1
            return
        }
        seen[bit / 64] |= 1 << UInt64(bit % 64)
        distinct += 1
        if newest[Int(device)] > number { disordered += 1 }
        newest[Int(device)] = max(newest[Int(device)], number + 1)
        if keepsSamples { samples.append(Sample(sent: record.sent, accepted: now)) }
        let partition = Int(device) / devicesPerPartition
        if let interruption, record.sent > interruption, resumptions[partition] == nil {
            resumptions[partition] = now
        }
    }

    // MARK: Take-over

    /// A worker is killed now.
    mutating func interrupt(now: Int64) {
        interruption = now
        resumptions = resumptions.map { _ in nil }
    }

    /// The time at which the last partition had something accepted again that was published after the kill; nil before.
    var resumption: Int64? {
        guard interruption != nil else { return nil }
        var last = Int64.min
        for resumption in resumptions {
            guard let resumption else { return nil }
            last = max(last, resumption)
        }
        return last
    }
}
