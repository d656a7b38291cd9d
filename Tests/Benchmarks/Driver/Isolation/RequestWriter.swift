/// Writes the records of one topic: a part that is ready made, and the number.
///
/// In Protobuf's wire format by hand, because 20,000 records a second leave no time for message objects.
struct RequestWriter: Sendable {
    /// Key of each partition's records, and of its tokens.
    let keys: [[UInt8]]
    let tokensPerRecord: Int
    private let environment: [UInt8]
    /// By partition: the tokens of its devices, end to end, or as elements of the field `tokens`.
    private let tokens: [[UInt8]]
    /// Bytes that one token takes there.
    private let tokenBytes: Int
    private let isPacked: Bool

    static let environmentTag: UInt8 = 0x12
    static let payloadTag: UInt8 = 0x22
    static let tokenTag: UInt8 = 0x2A
    static let packedTokensTag: UInt8 = 0x32

    /// - Parameter kind: of a device's token; all malformed, or none.
    init(
        bundleID: String,
        environment: String,
        partitions: Int,
        devicesPerPartition: Int,
        tokensPerRecord: Int,
        kind: (UInt32) -> TokenKind
    ) {
        precondition(
            devicesPerPartition.isMultiple(of: tokensPerRecord),
            "records of one partition end with its devices"
        )
        isPacked = kind(0) != .malformed
        self.tokensPerRecord = tokensPerRecord
        var head = [Self.environmentTag]
        Self.append(length: environment.utf8.count, to: &head)
        self.environment = head + environment.utf8
        keys = (0..<partitions).map { Array("\(bundleID)#\($0)".utf8) }
        var all: [[UInt8]] = []
        for partition in 0..<partitions {
            var bytes: [UInt8] = []
            for place in 0..<devicesPerPartition {
                let device = UInt32(partition * devicesPerPartition + place)
                if isPacked {
                    DeviceToken.append(device: device, kind: kind(device), to: &bytes)
                } else {
                    Self.append(malformed: device, to: &bytes)
                }
            }
            all.append(bytes)
        }
        tokens = all
        tokenBytes = all[0].count / devicesPerPartition
    }

    /// Writes the value of record `number` over `value`.
    ///
    /// - Parameter place: of the first device within its partition's.
    func write(_ number: UInt32, partition: Int, place: Int, into value: inout [UInt8]) {
        value.removeAll(keepingCapacity: true)
        value += environment
        value.append(Self.payloadTag)
        Self.append(length: NumberedPayload.count, to: &value)
        NumberedPayload.append(number, to: &value)
        let range = place * tokenBytes..<(place + tokensPerRecord) * tokenBytes
        if isPacked {
            value.append(Self.packedTokensTag)
            Self.append(length: range.count, to: &value)
        }
        value += tokens[partition][range]
    }

    /// The size of every value.
    var valueBytes: Int {
        var value: [UInt8] = []
        write(0, partition: 0, place: 0, into: &value)
        return value.count
    }

    private static func append(malformed device: UInt32, to bytes: inout [UInt8]) {
        var token: [UInt8] = []
        DeviceToken.append(device: device, kind: .malformed, to: &token)
        var message: [UInt8] = [0x0A]
        append(length: token.count, to: &message)
        message += token
        bytes.append(tokenTag)
        append(length: message.count, to: &bytes)
        bytes += message
    }

    private static func append(length: Int, to bytes: inout [UInt8]) {
        var rest = length
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
