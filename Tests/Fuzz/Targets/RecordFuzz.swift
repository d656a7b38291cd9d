import APNsProtocol
import Glibc
import PushSchemas
import RequestRules

/// A record of a publisher costs what its bytes cost: nothing that it says makes decoding, judging or rendering grow
/// faster than it does.
///
/// The stream is a record whose parts may be repeated, see ``expanded(_:)``: costs that are no line show in large
/// records, and inputs are small.
///
/// Settings: bit 0, the record is JSON; 1, the environment is of HTTP/2; 2, bundles are spread; 3, texts are looked
/// through for numbers.
struct RecordFuzz {
    /// The length of the longest record; a quarter of what a record may have, for the sanitizer is slow.
    static let limitBytes = 1 << 18
    /// The first byte of an order to repeat: `mark`, then so many of the last bytes, then how many times they double.
    static let mark: UInt8 = 0xF7
    /// Times that one order doubles its bytes, at most.
    private static let mostDoublings = 15
    /// Most of what dead letters say about a record.
    private static let toldBytes = 1 << 16
    private static let key = Array("com.example.fuzz#1".utf8)

    private let value: [UInt8]
    private let type: RecordContentType
    private let validator: RequestValidator

    init(_ input: FuzzInput) {
        value = Self.expanded(input.stream)
        type = input.isSet(0) ? .json : .protobuf
        let transport: APNsTransport = input.isSet(1) ? .http2 : .binary
        validator = RequestValidator(
            transport: transport,
            payload: input.isSet(1) ? .byPushType : .limit(bytes: PayloadLimit.binary2013),
            tokens: TokenRule(lengths: 1...100, spread: input.isSet(2) ? 2 : nil),
            sensitiveData: input.isSet(3) ? .refuse : .off
        )
    }

    func run() throws(BrokenInvariant) {
        let faults = judge()
        let told = faults.reduce(0) { $0 + $1.refusal.reason.utf8.count + $1.refusal.detail.utf8.count }
        try expect(told <= Self.toldBytes, "\(told) bytes are told about a record of \(value.count)")
        #if FUZZING
        try judgeCost()
        #endif
    }

    private func judge() -> [RequestFault] {
        Self.key.withUnsafeBytes { key in value.withUnsafeBytes { validator.faults(key: key, value: $0, as: type) } }
    }

    /// The bytes of a stream with its repetitions, ``limitBytes`` at most. A repetition may be repeated.
    static func expanded(_ stream: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = stream[...]
        while let byte = rest.popFirst(), bytes.count < limitBytes {
            guard byte == mark, rest.count >= 2 else {
                bytes.append(byte)
                continue
            }
            let piece = bytes.suffix(Int(rest.removeFirst()))
            var copies = 1 << min(Int(rest.removeFirst()), mostDoublings) - 1
            while copies > 0, bytes.count + piece.count <= limitBytes {
                bytes += piece
                copies -= 1
            }
        }
        return bytes
    }

    #if FUZZING
    /// With the sanitizer a byte costs some hundred nanoseconds at most; a cost by its square is 1000 times that.
    private static let nanosecondsPerByte = 4000
    private static let spareNanoseconds = 50_000_000

    /// The processor's time counts, and the best of several runs.
    private func judgeCost() throws(BrokenInvariant) {
        let most = Self.spareNanoseconds + value.count * Self.nanosecondsPerByte
        var best = Int.max
        for _ in 0..<3 where best > most {
            let start = Self.threadNanoseconds()
            _ = judge()
            best = min(best, Self.threadNanoseconds() - start)
        }
        try expect(best <= most, "a record of \(value.count) bytes costs \(best / 1000) microseconds")
    }

    private static func threadNanoseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    #endif
}
