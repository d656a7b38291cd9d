import BelfryProducer
import Dispatch

/// Scans pieces of a file of lines on several threads at once. Tokens, their order, places and faults are those that
/// one ``TokenScanner`` finds.
///
/// A piece is cut into parts of whole lines. Tokens are handed on when all parts are scanned, on the caller's thread.
struct ParallelTokenScanner {
    private(set) var scanner: TokenScanner
    /// By thread.
    private let scans: [PartScan]
    /// Shorter pieces are not worth the threads.
    private let leastBytes: Int

    /// More threads than that wait for the one that takes the tokens.
    static let mostThreads = 4

    init(_ scanner: TokenScanner, threads: Int, leastBytes: Int = 1 << 16) {
        precondition(threads >= 1, "somebody has to scan")
        self.scanner = scanner
        self.leastBytes = leastBytes
        scans = (0..<threads).map { _ in PartScan(scanner) }
    }

    /// Takes the next piece of the file.
    ///
    /// - Parameter take: gets each token, valid during the call.
    mutating func scan(_ piece: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        var rest = piece[...]
        if scans.count > 1, piece.count >= leastBytes {
            while !scanner.isBetweenLines, let end = rest.firstIndex(of: Self.lineEnd) {
                try scan(rest[...end], take)
                rest = rest[(end + 1)...]
            }
            if scanner.isBetweenLines { try scanParts(&rest, take) }
        }
        try scan(rest, take)
    }

    /// The file ends here: so does its last line.
    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try scanner.finish(take)
    }

    private typealias Part = Slice<UnsafeRawBufferPointer>

    private static let lineEnd: UInt8 = 10

    private mutating func scan(_ part: Part, _ take: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try scanner.scan(UnsafeRawBufferPointer(rebasing: part), take)
    }

    /// Scans the whole lines of `rest`, and leaves the beginning of a line that may be behind them.
    private mutating func scanParts(
        _ rest: inout Part,
        _ take: (UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        let parts = Self.cut(&rest, into: scans.count)
        for (scan, part) in zip(scans, parts) {
            scan.begin(UnsafeRawBufferPointer(rebasing: part), scanner.partScanner)
        }
        let scans = scans
        DispatchQueue.concurrentPerform(iterations: parts.count) { scans[$0].run() }
        for (scan, part) in zip(scans, parts) {
            if scan.scanner.faults.isEmpty {
                for index in 0..<scan.tokens.count { try scan.tokens.withToken(at: index, take) }
                scanner.goOn(behind: scan.scanner)
            } else {
                // Mistakes are told with the numbers of their lines, which are known only now.
                try self.scan(part, take)
            }
        }
    }

    /// Cuts whole lines off: so many parts of about the same size, or fewer.
    private static func cut(_ rest: inout Part, into count: Int) -> [Part] {
        let (begin, size) = (rest.startIndex, rest.count)
        var parts: [Part] = []
        for number in 1...count {
            let border = begin + size * number / count
            guard border > rest.startIndex, let end = rest[..<border].lastIndex(of: lineEnd) else { continue }
            parts.append(rest[...end])
            rest = rest[(end + 1)...]
        }
        return parts
    }
}

/// The scan of one part. Changed by one thread at a time: between pieces the owner's, then the one that runs it.
private final class PartScan: @unchecked Sendable {
    private(set) var scanner: TokenScanner
    /// Keeps its memory from piece to piece.
    private(set) var tokens = TokenList()
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)

    init(_ scanner: TokenScanner) { self.scanner = scanner }

    /// - Parameter bytes: whole lines, valid until the end of ``run()``.
    func begin(_ bytes: UnsafeRawBufferPointer, _ scanner: TokenScanner) {
        self.bytes = bytes
        self.scanner = scanner
    }

    func run() {
        // Out of the object, so that nothing is checked for each token.
        var (scanner, found) = (self.scanner, TokenList())
        swap(&found, &tokens)
        found.removeAll()
        scanner.scan(bytes) { found.append($0) }
        swap(&found, &tokens)
        self.scanner = scanner
    }
}
