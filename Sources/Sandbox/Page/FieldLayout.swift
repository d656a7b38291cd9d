/// Places of a topic's devices on the page's field. Row by row in the order of their numbers, so that a range of
/// devices is a band, in a rectangle about as wide as a screen.
struct FieldLayout: Equatable, Sendable {
    let devices: Int
    let columns: Int

    /// - Parameter devices: at least 1.
    init(devices: Int) {
        precondition(devices > 0, "a field of \(devices) devices")
        self.devices = devices
        columns = min(devices, Int((Double(devices) * 1.6).squareRoot().rounded(.up)))
    }

    /// The last one may be short.
    var rows: Int { (devices + columns - 1) / columns }

    /// The devices of a row that stand in some columns; empty outside of the field.
    func devices(row: Int, columns range: Range<Int>) -> Range<Int> {
        guard row >= 0, row < rows else { return 0..<0 }
        let columns = range.clamped(to: 0..<columns)
        let first = min(row * self.columns + columns.lowerBound, devices)
        return first..<min(first + columns.count, devices)
    }
}
