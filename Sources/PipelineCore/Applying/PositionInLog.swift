/// A reader's next offset, compared with the extent of the log.
public enum PositionInLog: Equatable, Sendable {
    /// The log has the offset, or ends just before it.
    case present
    /// Retention has deleted records, at least one, before they were read.
    case overtaken(lostRecords: Int64)
    /// The log ends before the offset: it was cut, or made anew.
    case beyondEnd
    /// The log has the offset now and had not when the broker refused it: it was cut, and has grown beyond the offset
    /// since. The records that took the place of others before the offset were never read.
    case cut

    /// - Parameters:
    ///   - next: the offset to be read next; negative: the beginning, wherever that is.
    ///   - refused: the offset that the broker called out of range before it was asked for the extent. A client that
    ///     was paused may have asked for one before `next`. Nil: none was refused.
    ///   - low: the first offset of the log.
    ///   - high: one past its last offset.
    public init(next: Int64, refused: Int64? = nil, low: Int64, high: Int64) {
        if max(next, refused ?? next) > high {
            self = .beyondEnd
        } else if let refused, refused >= low {
            self = .cut
        } else if next >= 0, next < low {
            self = .overtaken(lostRecords: low - next)
        } else {
            self = .present
        }
    }
}
