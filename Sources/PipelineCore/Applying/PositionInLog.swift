/// A reader's next offset, compared with the extent of the log.
public enum PositionInLog: Equatable, Sendable {
    /// The log has the offset, or ends just before it.
    case present
    /// Retention has deleted records, at least one, before they were read.
    case overtaken(lostRecords: Int64)
    /// The log ends before the offset: it was cut, or made anew.
    case beyondEnd

    /// - Parameters:
    ///   - next: the offset to be read next; negative: the beginning, wherever that is.
    ///   - low: the first offset of the log.
    ///   - high: one past its last offset.
    public init(next: Int64, low: Int64, high: Int64) {
        if next > high {
            self = .beyondEnd
        } else if next >= 0, next < low {
            self = .overtaken(lostRecords: low - next)
        } else {
            self = .present
        }
    }
}
