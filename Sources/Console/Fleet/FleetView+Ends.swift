// The parts that rarely change: gateways, certificates, keys, feedback lists.

extension RoleAnswer {
    /// The gateways of a process that is gone are known, and no connection of it is there any more.
    var withoutConnections: RoleAnswer {
        var answer = self
        for index in answer.gateways.indices { answer.gateways[index].connections = [:] }
        return answer
    }
}

extension FleetView {
    static func gateways(_ answers: [RoleAnswer]) -> [FleetDocument.Gateways] {
        var merged: [String: (transport: String, addresses: [String], connections: [String: Int])] = [:]
        for gateways in answers.flatMap(\.gateways) {
            var entry = merged[gateways.environment] ?? (gateways.transport, [], [:])
            for address in gateways.addresses where !entry.addresses.contains(address) {
                entry.addresses.append(address)
            }
            entry.connections.merge(gateways.connections, uniquingKeysWith: +)
            merged[gateways.environment] = entry
        }
        return merged.sorted { $0.key < $1.key }.prefix(50).map { environment, entry in
            FleetDocument.Gateways(
                environment: environment,
                transport: entry.transport,
                addresses: Array(entry.addresses.prefix(50)),
                connections: Dictionary(
                    uniqueKeysWithValues: entry.connections.sorted { $0.key < $1.key }.prefix(20).map { ($0, $1) }
                )
            )
        }
    }

    /// The first to end comes first. Processes may have read different files: the earliest end counts.
    static func certificates(_ answers: [RoleAnswer]) -> [FleetDocument.Certificate] {
        let all = answers.flatMap(\.certificates).map { ($0.name, $0.daysLeft) }
        return Dictionary(all, uniquingKeysWith: min)
            .map { .init(topic: $0.key.topic, environment: $0.key.environment, daysLeft: $0.value) }
            .sorted { ($0.daysLeft, $0.topic, $0.environment) < ($1.daysLeft, $1.topic, $1.environment) }
    }

    /// The one with the oldest token comes first.
    static func keys(_ answers: [RoleAnswer]) -> [FleetDocument.Key] {
        var ages: [[String]: Double] = [:]
        for key in answers.flatMap(\.keys) {
            ages[[key.team, key.key]] = max(ages[[key.team, key.key]] ?? 0, key.tokenAgeSeconds)
        }
        return ages.map { .init(team: $0.key[0], key: $0.key[1], tokenAgeSeconds: $0.value) }
            .sorted { ($1.tokenAgeSeconds, $0.team, $0.key) < ($0.tokenAgeSeconds, $1.team, $1.key) }
    }

    /// The list not read for longest comes first. One harvester reads a list, the others know since their start only:
    /// the youngest reading counts.
    static func harvests(_ fresh: [ProcessRecord]) -> [FleetDocument.Harvest] {
        var merged: [RoleAnswer.TopicName: FleetDocument.Harvest] = [:]
        for record in fresh {
            for harvest in record.answer?.harvests ?? [] {
                let former = merged[harvest.name]
                let holds = harvest.holdsLease
                merged[harvest.name] = FleetDocument.Harvest(
                    topic: harvest.name.topic,
                    environment: harvest.name.environment,
                    ageSeconds: min(former?.ageSeconds ?? .infinity, harvest.ageSeconds),
                    step: holds ? harvest.step : former?.step ?? harvest.step,
                    holder: holds ? PlainText.clean("\(record.address)") : former?.holder
                )
            }
        }
        return merged.values.sorted { left, right in
            (right.ageSeconds, left.topic, left.environment) < (left.ageSeconds, right.topic, right.environment)
        }
    }
}
