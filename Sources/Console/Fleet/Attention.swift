/// A matter that wants an operator's attention: the page's first lines.
struct Attention: Encodable, Equatable, Sendable {
    enum Level: String, Encodable, Sendable {
        /// Notifications are not sent, will not be soon, or cannot be stopped.
        case bad
        case warn
    }

    let level: Level
    let text: String
    /// The page's part that tells more.
    let part: String
    /// The entry of the runbook; nil: there is none.
    var alert: String?

    /// More are counted, not listed.
    static let limit = 30
    /// Days that a certificate has left: from the first on it is told, from the second on it is urgent.
    static let certificateDays = (warn: 30, bad: 7)
    /// Provider tokens are refused when they are older than an hour.
    static let tokenSeconds = 3600.0
    /// Since a worker last knew all levers: normally below 3.
    static let controlsSeconds = 60.0
    /// Since a feedback list was read to its end: `harvester.interval` is an hour unless changed, and a day at most.
    static let harvestSeconds = (warn: 3 * 3600.0, bad: 86_400.0)

    /// The matters of a fleet, those that are bad first.
    ///
    /// - Parameter nameTroubles: of names that cannot be resolved.
    static func list(_ fleet: FleetDocument, nameTroubles: [String]) -> [Attention] {
        let all =
            silence(fleet)
            + nameTroubles.map { Attention(level: .bad, text: "Cannot resolve \($0).", part: "processes") }
            + processes(fleet) + partitions(fleet) + topics(fleet) + gateways(fleet) + ends(fleet) + harvests(fleet)
            + counts(fleet) + advice(fleet.advice)
        let sorted = all.filter { $0.level == .bad } + all.filter { $0.level == .warn }
        guard sorted.count > limit else { return sorted }
        let more = Attention(level: .warn, text: "\(sorted.count - limit + 1) more matters.", part: "topics")
        return sorted.prefix(limit - 1) + [more]
    }

    private static func silence(_ fleet: FleetDocument) -> [Attention] {
        // If no process answers at all, that is the matter.
        guard let seconds = fleet.workersSilentSeconds, fleet.processes.contains(where: { $0.state == .answers })
        else { return [] }
        let text = "Nothing is sent: no worker answers. Apps, lag and waiting are those of \(Int(seconds)) s ago."
        return [Attention(level: .bad, text: text, part: "processes", alert: "BelfryDown")]
    }

    private static func processes(_ fleet: FleetDocument) -> [Attention] {
        let known = fleet.processes.filter { $0.state != .gone }
        if !known.isEmpty, known.allSatisfy({ $0.state == .away }) {
            let text = "No process answers: \(known.first?.trouble ?? "")."
            return [Attention(level: .bad, text: text, part: "processes", alert: "BelfryDown")]
        }
        var matters: [Attention] = known.compactMap { process in
            let name = process.name
            if process.state == .away {
                let since = process.silenceSeconds.map { ", last answer \(Int($0)) s ago" } ?? ", never answered"
                let text = "\(name) is away: \(process.trouble ?? "no answer")\(since)."
                return Attention(level: .bad, text: text, part: "processes", alert: "BelfryDown")
            }
            guard process.state == .answers, !process.isReady else { return nil }
            let obstacles = process.obstacles.isEmpty ? "" : ": " + process.obstacles.joined(separator: "; ")
            let text = "\(name) is not ready\(obstacles)."
            return Attention(level: .warn, text: text, part: "processes", alert: "BelfryNotReady")
        }
        let running = known.filter { $0.state == .answers }
        matters += unheardLevers(running) + restarts(running)
        let versions = Set(running.compactMap(\.programVersion)).subtracting([""]).sorted()
        if versions.count > 1 {
            let text = "Processes of \(versions.count) versions run: \(versions.joined(separator: ", "))."
            matters.append(Attention(level: .warn, text: text, part: "processes"))
        }
        return matters
    }

    private static func unheardLevers(_ running: [FleetDocument.Process]) -> [Attention] {
        let names = running.filter { ($0.controlsAgeSeconds ?? 0) > controlsSeconds }.map(\.name)
        guard !names.isEmpty else { return [] }
        let verb = names.count == 1 ? "does" : "do"
        let text = "\(some(names)) \(verb) not hear of levers: a pause would not hold there."
        return [Attention(level: .bad, text: text, part: "processes", alert: "BelfryLeversUnheard")]
    }

    /// Processes of a role mostly wait for the same keys.
    private static func restarts(_ running: [FleetDocument.Process]) -> [Attention] {
        let waiting = Dictionary(grouping: running.filter { !$0.restartNeeded.isEmpty }, by: \.restartNeeded)
        return waiting.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { keys, processes in
            let names = processes.map(\.name)
            let text = "\(some(names)) \(names.count == 1 ? "needs" : "need") a restart for \(some(keys))."
            return Attention(level: .warn, text: text, part: "processes", alert: "BelfryRestartNeeded")
        }
    }

    private static func partitions(_ fleet: FleetDocument) -> [Attention] {
        let standing = fleet.partitions.filter(\.isStanding).map { "\($0.kafkaTopic)[\($0.number)]" }
        let unheld = fleet.partitions.filter {
            ($0.unheldSeconds ?? 0) >= ConsoleLimits.patienceWithUnheld / .seconds(1)
        }
        var matters: [Attention] = []
        if !standing.isEmpty {
            let text = "Stands, its commit is missing or not understood: \(some(standing))."
            matters.append(Attention(level: .bad, text: text, part: "partitions", alert: "BelfryPartitionStands"))
        }
        if !unheld.isEmpty {
            let names = unheld.map { "\($0.kafkaTopic)[\($0.number)]" }
            matters.append(Attention(level: .bad, text: "No process reads \(some(names)).", part: "partitions"))
        }
        return matters
    }

    private static func topics(_ fleet: FleetDocument) -> [Attention] {
        func name(_ topic: FleetDocument.Topic) -> String { "\(topic.topic) (\(topic.environment))" }
        let stopped = Dictionary(grouping: fleet.topics.filter { $0.stoppedBecause != nil }) { $0.stoppedBecause ?? "" }
        let matters = stopped.sorted { $0.key < $1.key }.map { reason, topics in
            let names = topics.map(name)
            let text =
                "\(some(names)) \(names.count == 1 ? "does" : "do") not work: \(StopReason.words(for: reason))."
            return Attention(level: .bad, text: text, part: "topics", alert: StopReason.alert(for: reason))
        }
        let paused = fleet.topics.filter(\.isPaused).map { name($0) + place($0.pausedLanes) }
        guard !paused.isEmpty else { return matters }
        // An operator wanted it so, and may have forgotten it.
        let text = "\(some(paused)) \(paused.count == 1 ? "is" : "are") paused by an operator."
        return matters + [Attention(level: .warn, text: text, part: "topics", alert: "BelfryTopicPaused")]
    }

    /// The lanes that are paused, as they follow an app's name; nothing for all.
    private static func place(_ lanes: [String]) -> String {
        guard !lanes.isEmpty else { return "" }
        return (lanes.count == 1 ? " in lane " : " in lanes ") + lanes.joined(separator: " and ")
    }

    private static func gateways(_ fleet: FleetDocument) -> [Attention] {
        fleet.gateways.compactMap { gateways in
            let waiting = (gateways.connections["waiting"] ?? 0) + (gateways.connections["connecting"] ?? 0)
            guard gateways.connections["open"] ?? 0 == 0, waiting > 0 else { return nil }
            let text = "No connection to \(gateways.environment) is open, \(waiting) wait or are being made."
            return Attention(level: .bad, text: text, part: "gateways", alert: "BelfryConnectionsWait")
        }
    }

    private static func ends(_ fleet: FleetDocument) -> [Attention] {
        let certificates: [Attention] = fleet.certificates.compactMap { certificate in
            guard certificate.daysLeft <= certificateDays.warn else { return nil }
            let name = "\(certificate.topic) (\(certificate.environment))"
            let text =
                certificate.daysLeft < 0
                ? "The certificate of \(name) has ended."
                : "The certificate of \(name) ends in \(days(certificate.daysLeft))."
            let level = certificate.daysLeft <= certificateDays.bad ? Level.bad : .warn
            return Attention(level: level, text: text, part: "certificates", alert: "BelfryCertificateEnds")
        }
        let keys: [Attention] = fleet.keys.filter { $0.tokenAgeSeconds > tokenSeconds }.map { key in
            let text = "The token of key \(key.key) (team \(key.team)) is older than an hour: it is refused."
            return Attention(level: .bad, text: text, part: "certificates", alert: "BelfryProviderTokens")
        }
        return certificates + keys
    }

    private static func harvests(_ fleet: FleetDocument) -> [Attention] {
        fleet.harvests.compactMap { harvest in
            guard harvest.ageSeconds >= harvestSeconds.warn else { return nil }
            let name = "\(harvest.topic) (\(harvest.environment))"
            let text = "The feedback list of \(name) was last read \(Int(harvest.ageSeconds / 3600)) hours ago."
            let level = harvest.ageSeconds >= harvestSeconds.bad ? Level.bad : .warn
            return Attention(level: level, text: text, part: "harvests", alert: "BelfryHarvestOverdue")
        }
    }

    private static func counts(_ fleet: FleetDocument) -> [Attention] {
        var matters: [Attention] = []
        if fleet.rates.deadLetters > 0 {
            let text = "Records are refused and go to push.dead-letters."
            matters.append(Attention(level: .warn, text: text, part: "outcomes", alert: "BelfryDeadLetters"))
        }
        if fleet.rates.misplaced > 0 {
            let text = "Records are in wrong partitions: a publisher uses another partitioner."
            matters.append(Attention(level: .warn, text: text, part: "partitions", alert: "BelfryRecordsMisplaced"))
        }
        return matters
    }

    private static func advice(_ advice: Advice) -> [Attention] {
        switch advice.verdict {
        case .stuck: [Attention(level: .bad, text: advice.text, part: "scaling", alert: "BelfryNothingIsSent")]
        case .more, .partitions:
            [Attention(level: .warn, text: advice.text, part: "scaling", alert: "BelfryLagGrows")]
        case .unknown, .enough, .fewer: []
        }
    }

    private static func days(_ count: Int) -> String {
        count == 0 ? "less than a day" : count == 1 ? "1 day" : "\(count) days"
    }

    /// The first three, and how many there are.
    private static func some(_ names: [String]) -> String {
        guard names.count > 3 else { return names.joined(separator: ", ") }
        return names.prefix(3).joined(separator: ", ") + " and \(names.count - 3) more"
    }
}

extension FleetDocument.Process {
    /// As people tell it from others.
    fileprivate var name: String { [role, address].compactMap(\.self).joined(separator: " ") }
}
