import LocalPipeline

/// The balance of the books, and what they lack.
extension ChaosBooks {
    var recordsMade: Int { records.count }

    /// Notifications in the logs.
    var published: Int { publishedByLane.values.reduce(0, +) }

    /// Notifications handed to the producer.
    var handedOver: Int { nextRecordBit }

    /// Notifications that have an outcome.
    var outcomes: Int { outcomesByLane.values.reduce(0, +) }

    /// In the log and without an outcome.
    var missing: Int { published - outcomes }

    /// Nothing is missing, of copies either.
    var isSettled: Bool { missing == 0 && moves.openDue == 0 }

    /// Notifications that have an outcome, and none in the place of a copy: the worker has lost that.
    var openCopies: Int {
        guard moves.openDue > 0 else { return 0 }
        let open = moves.copies.filter { $0.isDue && $0.open > 0 }.flatMap { copy in
            (0..<stream.record(copy.number).count).filter { token in
                settled[copy.originBit + token] && !settled[copy.firstBit + token]
            }.map { copy.originBit + $0 }
        }
        return Set(open).count
    }

    /// Copies of what was never published: it does not stand in the log where they say.
    var movedFromNowhere: Int {
        moves.copies.count { !isInLog($0.origin) }
    }

    /// Copies that do not stand in the partition to which the key of their record leads: lanes have equally many.
    var movedElsewhere: Int {
        moves.copies.count { $0.place.partition.number != $0.origin.partition.number }
    }

    private func isInLog(_ place: RequestPlace) -> Bool {
        guard let index = place.partition.index(among: partitions), place.offset < entries[index].count else {
            return false
        }
        return entries[index][Int(place.offset)].isInLog
    }

    /// Urgent records in the log that do not fit into the quota of their app, even if nothing was used of it.
    var beyondQuota: Int { recordsBeyondQuota { _ in true } }

    /// Of these, such as were never moved.
    var stayedBeyondQuota: Int { recordsBeyondQuota { !moves.contains($0) } }

    /// - Parameter counts: told the number of each.
    private func recordsBeyondQuota(_ counts: (UInt32) -> Bool) -> Int {
        records.enumerated().reduce(0) { sum, element in
            let record = stream.record(UInt32(element.offset + 1))
            guard element.element.offset >= 0, record.lane == .urgent, let quota = quotas[record.topic],
                record.count > quota, counts(record.number)
            else { return sum }
            return sum + 1
        }
    }

    /// Without an outcome, or proven to be accepted and never were.
    var lost: Int { max(0, missing) + openCopies + confirmedWrongly }

    /// Proven to be accepted, says the worker, and never were.
    var confirmedWrongly: Int { confirmed.subtracting(accepted) }

    /// Of what was published into a lane: in the log and without an outcome, or proven to be accepted and never were.
    func lost(in lane: RequestLane) -> Int {
        let missing = (publishedByLane[lane] ?? 0) - (outcomesByLane[lane] ?? 0)
        let wrong = confirmedWrongly == 0 ? 0 : confirmedWrongly(in: lane)
        return max(0, missing) + (lane == .urgent ? openCopies : 0) + wrong
    }

    private func confirmedWrongly(in lane: RequestLane) -> Int {
        records.enumerated().reduce(0) { sum, element in
            let record = stream.record(UInt32(element.offset + 1))
            guard record.lane == lane else { return sum }
            let bits = element.element.firstBit..<element.element.firstBit + record.count
            return sum + bits.count { confirmed[$0] && !accepted[$0] }
        }
    }

    /// Presumed to be accepted, and never were.
    var presumedWrongly: Int { presumed.subtracting(accepted) }

    /// Accepted, and the worker does not say so.
    var acceptedUnclaimed: Int { accepted.subtracting(confirmed.union(presumed)) }

    /// Places of the first few notifications without an outcome.
    func examplesOfMissing(limit: Int) -> [String] {
        var examples: [String] = []
        for (partition, log) in zip(RequestPartition.all(partitions), entries) {
            for (offset, entry) in log.enumerated() where entry.isInLog {
                let count = stream.record(entry.number).count
                let open = (0..<count).filter { !settled[entry.firstBit + $0] }
                guard let first = open.first else { continue }
                examples.append(
                    "\(partition)@\(offset) number \(entry.number): \(open.count) of \(count), first \(first)"
                )
                if examples.count == limit { return examples }
            }
        }
        return examples
    }
}
