/// The times at which workers said that a record over a quota cannot be moved.
///
/// It is sent as an urgent one then, behind newer ones that stayed. Of many that are refused in a second a log may name
/// one alone, so it is not known which they are.
///
/// Pure.
struct RefusedMoves: Sendable {
    /// In a worker's log.
    static let message = "record over a quota cannot be moved; it is sent as urgent"

    /// UNIX seconds.
    private let seconds: [UInt32]

    init(_ seconds: [UInt32] = []) {
        self.seconds = seconds
    }

    var isEmpty: Bool { seconds.isEmpty }

    /// A record may have been accepted at a time because it could not be moved.
    ///
    /// - Parameter reach: longest time from the line to the acceptance.
    func explain(_ second: UInt32, within reach: UInt32) -> Bool {
        seconds.contains { $0 <= second && second - $0 <= reach }
    }
}
