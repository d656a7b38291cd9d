import RequestLanes

@testable import KafkaClient

/// Records that workers move into the normal lane.
extension World {
    /// A worker's copy of an urgent record is in the log.
    ///
    /// - Returns: its offset.
    func moved(_ record: Published) -> Int64 {
        guard let original = auditor.original(of: record), laneMap.lanes.contains(.normal) else {
            auditor.check(false, 1, "a record of no publisher is in the normal lane")
            return 0
        }
        var copy = records[original.ordinal]
        copy.lane = .normal
        copy.shift = 0
        copy.moved = WorldPlan.Record.Move(from: original.ordinal, time: record.time - Self.start)
        // By its key, where publishers' records with that key lie.
        let key = copy.form == .misplaced ? 1 - copy.key : copy.key
        let place = (copy.topic + key) % plan.options.partitions
        let partition = laneMap.partitions(of: .normal).lowerBound + Int32(place)
        let ordinal = append(copy, in: partition)
        auditor.add(copy: ordinal, of: original.ordinal, record)
        auditor.published(ordinal)
        note(.moved, original.ordinal, Int(partition), "record \(original.ordinal) is moved to \(partition)")
        broker.publish(
            ordinal,
            key: record.key,
            value: record.value,
            headers: record.headers.map { (name: $0.0, value: $0.1) },
            timestampMilliseconds: Self.unixMilliseconds(of: copy),
            partition: partition
        )
        noteOffset(ofRecord: ordinal)
        return broker.end(of: partition) - 1
    }
}
