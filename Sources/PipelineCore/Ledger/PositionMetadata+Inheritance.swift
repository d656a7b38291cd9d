/// The take-over of positions by an owner with another decoder.
extension PositionMetadata {
    /// The cursor and the done ranges of the records that the former owner refused without knowing their topics; nil:
    /// all are done below the offset.
    public var refused: Laggard? { laggards.first { $0.topic == .refused } }

    /// Prepares the positions for an owner with an edition of the decoder.
    ///
    /// Another decoder may find a topic for a record that the former owner refused, and refuse one that had a topic.
    /// Nothing tells which records these are, so a topic is done only where the refused records are, too, and from the
    /// offset on the refused ones are done nowhere: topics without a name may hold it. Repeated rather than lost.
    ///
    /// - Returns: true: the editions differ and something lags, so that topics without a name begin at the cursor of
    ///   ``refused`` as well.
    public mutating func adapt(to edition: UInt8, committedOffset: Int64) -> Bool {
        guard self.edition == Self.unknownEdition || self.edition != edition else { return false }
        // Below the offset all is done, of whichever topic. A text without names tells no edition either.
        guard !laggards.isEmpty else { return false }
        guard let place = laggards.firstIndex(where: { $0.topic == .refused }) else { return true }
        for index in laggards.indices where index != place { laggards[index].keep(doneIn: laggards[place]) }
        laggards[place].leave(from: committedOffset)
        return true
    }
}

extension PositionMetadata.Laggard {
    /// Leaves done only what is done for another one, too.
    mutating func keep(doneIn other: Self) {
        let (low, high) = other.cursor < cursor ? (other, self) : (self, other)
        var above = DoneRanges()
        above.append(DoneRanges.Position(offset: .min, token: 0)..<DoneRanges.Position(offset: high.cursor, token: 0))
        for run in high.done.dropping(before: high.cursor).runs { above.append(run) }
        cursor = low.cursor
        done = low.done.intersection(above)
    }

    /// Leaves nothing done from an offset on.
    fileprivate mutating func leave(from offset: Int64) {
        cursor = min(cursor, offset)
        done = done.dropping(from: offset)
    }
}
