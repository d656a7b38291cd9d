/// Changes that an operator makes to a committed position while no worker runs.
extension PositionMetadata {
    /// The metadata after the offset is moved.
    ///
    /// Topics whose cursor is below the new offset keep cursor and done ranges. The others lose their name: everything
    /// of them from the new offset on is sent, a second time if it was sent before.
    public func moved(to offset: Int64) -> PositionMetadata {
        var changed = PositionMetadata()
        changed.salt = salt
        changed.edition = edition
        changed.laggards = laggards.filter { $0.cursor < offset }
        return changed
    }

    /// The metadata with another cursor for one topic.
    ///
    /// Moved ahead, the topic keeps the done ranges beyond its new cursor; moved back, it loses them all: everything
    /// from there on is sent again. At the committed offset or beyond the topic has no name.
    public func moving(_ topic: AppHash, to cursor: Int64, committedOffset: Int64) -> PositionMetadata {
        var changed = self
        changed.laggards.removeAll { $0.topic == topic }
        guard cursor < committedOffset else { return changed }
        var laggard = Laggard(topic: topic, cursor: cursor)
        if let former = laggards.first(where: { $0.topic == topic }), former.cursor <= cursor {
            laggard.done = former.done.dropping(before: cursor)
        }
        changed.laggards.append(laggard)
        changed.laggards.sort { ($0.cursor, $0.topic) < ($1.cursor, $1.topic) }
        return changed
    }

    /// The position to commit. Nil: not all names fit, and without its name a topic would lose the records before the
    /// offset.
    ///
    /// - Parameter limitBytes: most bytes of metadata; 32 or more.
    public func position(at offset: Int64, limitBytes: Int) -> Position? {
        let position = Self.choose(
            laggards.map { ($0.topic, $0.cursor) },
            liveNext: offset,
            salt: salt,
            limitBytes: limitBytes,
            edition: edition
        ) { topic, _ in
            laggards.first { $0.topic == topic }?.done ?? DoneRanges()
        }
        return position.unnamed == 0 ? position : nil
    }
}
