/// The rule for believing times of a foreign clock.
///
/// A time that lies ahead would win over everything that comes until then, so times dated too late are refused. The
/// witness is a time kept beside the judged one, not the time of judging: a time judged later, or again, is judged the
/// same.
///
/// The time of judging is the witness if it is earlier than one that the writer of the judged time wrote, too, as for
/// registrations. What was believed once is then believed at every repetition, for the time of judging only
/// grows. What was refused may be believed when it is judged again after its time has come, and does no harm then.
public enum ForeignClock {
    /// The most that a clock may be ahead of its witness, seconds. Clocks that are kept at all differ by less.
    public static let toleranceSeconds: Int64 = 3600

    /// - Parameters:
    ///   - seconds: the clock's time, UNIX seconds.
    ///   - witness: the time of receipt, UNIX seconds.
    public static func isTooFarAhead(_ seconds: UInt32, of witness: Int64) -> Bool {
        Int64(seconds) - toleranceSeconds > witness
    }
}
