/// Sick topics of later features: more than the metadata can name, and of other kinds.
extension WorldPlan {
    /// Many topics, most of them sick, and metadata with room for a few names.
    mutating func nameFew(_ dice: inout Dice) {
        options.topics = max(options.topics, dice.pick(6...Self.mostTopics))
        options.metadataBytes = dice.pick(32...110)
        // Of what lies behind an offset that is held nothing else tells that it is done.
        options.publishesAll = true
        for index in records.indices where records[index].tokens.count <= Self.tokensPerKey {
            // A request that is published twice goes to the same tokens.
            guard records[index].request == nil else { continue }
            records[index].topic = dice.pick(0...options.topics - 1)
        }
        for _ in 0..<dice.pick(3...options.topics - 2) {
            sicken(Sickness.Kind.first[dice.pick(0...Sickness.Kind.first.count - 1)], &dice)
        }
    }

    /// One topic or two of the kinds that the first features do not have.
    mutating func sickenOtherwise(_ dice: inout Dice) {
        for _ in 0..<dice.pick(1...2) {
            sicken(Sickness.Kind.later[dice.pick(0...Sickness.Kind.later.count - 1)], &dice)
        }
    }

    /// Makes a topic sick, unless it is sick already, or all others are.
    mutating func sicken(_ kind: Sickness.Kind, _ dice: inout Dice) {
        let topic = dice.pick(0...options.topics - 1)
        let sickness = Sickness(topic: topic, kind: kind, from: dice.chance(50) ? 0 : dice.time(0...2000))
        let others = options.sick.map(\.topic) + options.certificateGaps.map(\.topic)
        guard !others.contains(topic), options.sick.count < options.topics - 1 else { return }
        options.sick.append(sickness)
        // Topics of one provider key share connections, so that none of them can be sick alone.
        options.keyed.removeAll { $0 == topic }
        // The room that topics have which do not work; see where it is made tight.
        if options.memoryBytes > 0 { options.memoryBytes += 10_000 }
        switch kind {
        case .badTokens: addBadTokens(to: topic, &dice)
        case .certificateMissing: loseCertificate(of: topic, &dice)
        default: break
        }
    }

    private mutating func addBadTokens(to topic: Int, _ dice: inout Dice) {
        for index in records.indices where records[index].topic == topic && records[index].form == .protobuf {
            guard records[index].request == nil, dice.chance(15) else { continue }
            records[index].badTokens = dice.pick(20...100)
        }
    }

    private mutating func loseCertificate(of topic: Int, _ dice: inout Dice) {
        if options.certificateGaps.isEmpty {
            // Nothing else ends the records of a bundle that never has a certificate.
            let mustEnd = records.contains { $0.form == .withoutCertificate }
            options.certificateGrace = mustEnd || dice.chance(30) ? dice.time(1000...5000) : .seconds(3600)
            options.hasRegistrations = dice.chance(30)
        }
        options.certificateGaps.append(CertificateGap(topic: topic, from: 0, lasting: .max))
    }

    /// A worker that cannot take its partitions, in the rebalance that comes next.
    mutating func failAssignment(_ dice: inout Dice) {
        add(.assignmentFails, lasting: 0...0, &dice)
        guard let failure = faults.last else { return }
        faults.append(Fault(.rebalance, at: failure.time + .milliseconds(1)))
    }
}
