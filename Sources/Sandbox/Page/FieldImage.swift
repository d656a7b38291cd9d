/// A part of a topic's field as bytes, one for each square of devices, row by row: what `GET /field` answers.
///
/// A byte is `offline + 6 × uninstalled + 36 × removed`, each the share of the square's devices in that state from 0
/// (none) to 5 (all); a share above none is at least 1, so that a single device is not lost. The rest is online. 255 is
/// a square without devices. With squares of one device this is exact.
enum FieldImage {
    /// The part to draw: a corner in devices, and a number of squares.
    struct Viewport: Equatable, Sendable {
        /// The column and row of the first square's first device.
        var x: Int
        var y: Int
        /// In squares.
        var width: Int
        var height: Int
        /// The edge of a square, in devices.
        var cell: Int
    }

    /// A square without devices.
    static let absent: UInt8 = 255

    /// Draws it.
    ///
    /// - Parameters:
    ///   - viewport: within ``SandboxLimits/fieldCell`` and the other limits of the field.
    ///   - read: hands the packed states of a range of devices, all in one row of the field, to its second argument;
    ///     see ``DevicePopulation/withPackedStates(_:_:)``. It is called for one row after the other, so that a lock
    ///     around each call is held for some thousands of devices at most.
    static func draw(
        _ viewport: Viewport,
        of layout: FieldLayout,
        read: (Range<Int>, (UnsafeBufferPointer<UInt8>) -> Void) -> Void
    ) -> [UInt8] {
        var image: [UInt8] = []
        image.reserveCapacity(viewport.width * viewport.height)
        let columns = viewport.x..<viewport.x + viewport.width * viewport.cell
        // Four counts of 16 bits, one for each state; a square has at most 128 × 128 devices.
        var tallies = [UInt64](repeating: 0, count: viewport.width)
        for line in 0..<viewport.height {
            for index in tallies.indices { tallies[index] = 0 }
            let top = viewport.y + line * viewport.cell
            for row in top..<top + viewport.cell {
                let devices = layout.devices(row: row, columns: columns)
                guard !devices.isEmpty else { break }
                read(devices) { count($0, by: viewport.cell, into: &tallies) }
            }
            for tally in tallies { image.append(encode(tally)) }
        }
        return image
    }

    private static func count(_ states: UnsafeBufferPointer<UInt8>, by cell: Int, into tallies: inout [UInt64]) {
        tallies.withUnsafeMutableBufferPointer { tallies in
            var start = 0
            var index = 0
            while start < states.count {
                let end = min(start + cell, states.count)
                var tally = tallies[index]
                for position in start..<end {
                    tally &+= 1 &<< (UInt64(states[position] & 3) &* 16)
                }
                tallies[index] = tally
                start = end
                index += 1
            }
        }
    }

    private static func encode(_ tally: UInt64) -> UInt8 {
        func count(_ state: UInt64) -> Int { Int(tally >> (state * 16) & 0xffff) }
        let total = count(0) + count(1) + count(2) + count(3)
        guard total > 0 else { return absent }
        func share(_ state: UInt64) -> Int {
            let count = count(state)
            return count == 0 ? 0 : max(1, (count * 5 + total / 2) / total)
        }
        return UInt8(share(1) + 6 * share(2) + 36 * share(3))
    }
}
