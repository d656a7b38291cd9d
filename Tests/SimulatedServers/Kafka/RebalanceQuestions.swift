/// The rebalances that a member was told of and has not answered, oldest first; the rules of `KafkaConsumer`.
struct RebalanceQuestions {
    private enum Question {
        case assign([Int32])
        case revoke([Int32], lost: Bool)
    }

    private var unanswered: [Question] = []

    var isEmpty: Bool { unanswered.isEmpty }

    mutating func assign(_ partitions: [Int32]) { unanswered.append(.assign(partitions)) }

    /// An assignment that is taken back before its answer never begins; an eager group takes all back.
    mutating func withdraw(_ revoked: [Int32], isCooperative: Bool) {
        unanswered = unanswered.compactMap { question in
            guard case .assign(let partitions) = question else { return question }
            return isCooperative ? .assign(partitions.filter { !revoked.contains($0) }) : nil
        }
    }

    mutating func revoke(_ partitions: [Int32], lost: Bool) { unanswered.append(.revoke(partitions, lost: lost)) }

    /// One answer serves all assignments. Nil: there is none.
    mutating func takeAssign() -> [Int32]? {
        var found: [Int32]?
        for case .assign(let partitions) in unanswered { found = (found ?? []) + partitions }
        unanswered.removeAll { if case .assign = $0 { true } else { false } }
        return found
    }

    /// Nil: there is none.
    mutating func takeRevoke() -> (partitions: [Int32], lost: Bool)? {
        for (index, question) in unanswered.enumerated() {
            guard case .revoke(let partitions, let lost) = question else { continue }
            unanswered.remove(at: index)
            return (partitions, lost)
        }
        return nil
    }

    /// The partition is being taken back.
    func isLeaving(_ partition: Int32) -> Bool {
        unanswered.contains { question in
            if case .revoke(let partitions, _) = question { partitions.contains(partition) } else { false }
        }
    }
}
