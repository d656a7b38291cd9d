/// Which times of somebody else's clock are believed.
///
/// A time that lies ahead would win over all that comes until then, so what is dated too late is refused. The witness is
/// a time that is kept with what is judged, not the time of judging: what is judged later, or again, is judged the same.
public enum ForeignClock {
    /// How far a clock may be ahead of its witness, seconds: more than clocks that are kept at all differ by.
    public static let toleranceSeconds: Int64 = 3600

    /// - Parameters:
    ///   - seconds: what the clock said, UNIX seconds.
    ///   - witness: when that was received, UNIX seconds.
    public static func isTooFarAhead(_ seconds: UInt32, of witness: Int64) -> Bool {
        Int64(seconds) - toleranceSeconds > witness
    }
}
