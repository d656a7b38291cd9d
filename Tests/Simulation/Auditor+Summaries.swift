import PushSchemas

/// Outcomes of records whose publishers ask for a summary.
extension Auditor {
    func asksForSummary(_ number: Int) -> Bool {
        world.records[notifications[number].record].report == .summary
    }

    /// The summary of a record is stored. It does not say which of its tokens has which outcome.
    func storedSummary(_ summary: PushOutcome, of record: Int, by worker: Int, producedAt time: VirtualTime) {
        let numbers = firstOf[record]..<end(of: record)
        world.note(.outcome, numbers.lowerBound, summary.kind.rawValue, "summary of record \(record)")
        check(
            world.records[record].report == .summary,
            1,
            "record \(record) has a summary that its request does not ask for"
        )
        let counts = Dictionary(summary.counts.map { ($0.kind, Int($0.tokens)) }, uniquingKeysWith: +)
        let total = counts.values.reduce(0, +)
        check(
            total == tokenCount(of: record) && summary.counts.count == counts.count,
            1,
            "the summary of record \(record) counts \(total) of \(tokenCount(of: record)) tokens"
        )
        let accepted = numbers.count { notifications[$0].accepted > 0 }
        let presumed = counts[.presumed, default: 0]
        let isPresumptionWord = options.isPunctual && options.policy == .resend
        let claimed = counts[.confirmed, default: 0] + (isPresumptionWord ? presumed : 0)
        check(claimed <= accepted, 2, "of record \(record) \(claimed) are said to be accepted, and \(accepted) were")
        let isOverStreams = numbers.first.map(isOverStreams) ?? false
        check(
            !isOverStreams || options.policy == .presume || presumed == 0,
            2,
            "of record \(record) \(presumed) are presumed, though every request over HTTP/2 is answered"
        )
        let arrived = counts[.confirmed, default: 0] + presumed
        for number in numbers {
            noteExceptions(of: number, arrived < total, presumed > 0, counts[.unknown, default: 0] > 0)
            guard notifications[number].outcomeAt == nil else { continue }
            notifications[number].outcomeAt = now
            notifications[number].outcomeBy = worker
            notifications[number].decidedAt = time
            notifications[number].hasArrived = arrived == total
            if !isMoved(number) { open -= 1 }
        }
        badOutcomes[record, default: []].formUnion(badTokens(of: record))
    }

    /// One of a summary's tokens met an exception of the order, and it may be this one.
    private func noteExceptions(of number: Int, _ isMixed: Bool, _ isPresumed: Bool, _ isUnknown: Bool) {
        let isRefusedAfterAll = isMixed && notifications[number].accepted > 0
        guard isRefusedAfterAll || isUnknown || isPresumed && options.policy != .resend else { return }
        exempt(number)
    }
}
