import PipelineCore
import PushSchemas

@testable import Sender
@testable import TokenState

/// A notification that arrived counts once for its token's number, and nothing else does.
extension Auditor {
    /// Outcomes that were stored of a notification.
    struct Fates {
        /// Some says that it arrived, or may have.
        var hasArrived = false
        /// Some says that it did not.
        var hasFailed = false
    }

    /// A record that is refused as a whole is not looked into. An earlier reading of it may have counted it, with a
    /// certificate or by an owner of another configuration or version, and that stays.
    private static let reasonsOfWholeRecords: Set = [
        "bundle-without-certificate", "bundles-too-many", "environment-unknown", "value-undecodable",
    ]

    func noteFate(_ outcome: PushOutcome, of number: Int) {
        guard let kind = OutcomeKind(outcome.kind), kind != .duplicate else { return }
        let isOfWholeRecord = Self.reasonsOfWholeRecords.contains(outcome.reason)
        if kind.takesBadgeBack { fates[number, default: Fates()].hasFailed = true }
        if !kind.takesBadgeBack || isOfWholeRecord { fates[number, default: Fates()].hasArrived = true }
    }

    /// Checks the number in a payload that a gateway accepts.
    func checkBadge(in payload: UnsafeRawBufferPointer, record: Int, token: Int) {
        guard record < firstOf.count, world.records[record].addsToBadge else { return }
        let text = String(decoding: payload, as: UTF8.self)
        let number = text.split(separator: #""badge":"#).dropFirst().first.flatMap { Int($0.prefix(while: \.isNumber)) }
        guard let number else {
            return check(options.sendsWithoutRedis, 5, "record \(record) came to token \(token) without its number")
        }
        let most = badgeRequests(of: token).count
        // A worker whose clock was set back counts for a former owner of its partitions. So does that of another lane
        // with the same request which has had its partition for longer.
        let isOfTwoLanes = self.number(record: record, token: token).map(isRepeatedInOtherLane) ?? false
        let least = world.hasClockJumps || isOfTwoLanes ? 0 : 1
        check((least...most).contains(number), 5, "record \(record) came to token \(token) with \(number) of \(most)")
    }

    /// At the end every number is that of the notifications that arrived.
    func closeBadges() {
        // Without Redis nothing is counted; workers are told apart by the times at which they got their partitions.
        guard options.hasBadges, options.publishesAll, !options.sendsWithoutRedis, !world.hasClockJumps else { return }
        // With a sick topic a world ends while some is on its way again.
        guard options.sick.isEmpty else { return }
        for token in tokens.indices {
            let requests = badgeRequests(of: token)
            // Redis keeps no more changes apart.
            guard !requests.isEmpty, requests.count <= BadgeScript.limit else { continue }
            let sure = requests.values.count(where: haveArrivedForSure)
            let possible = requests.values.count { $0.contains { !hasFailedForSure($0) || isNamedAsPlain($0) } }
            let number = world.badge(of: token)
            check(
                (sure...possible).contains(number),
                5,
                "the number of token \(token) is \(number), and \(sure) notifications arrived, \(possible) may have"
            )
        }
    }

    /// Notifications of a token that add to its number, by what tells them apart: the request that is remembered, or
    /// the record, be it moved since.
    private func badgeRequests(of token: Int) -> [Int: [Int]] {
        if badgeNotifications.isEmpty { groupBadges() }
        return Dictionary(grouping: badgeNotifications[token, default: []]) { number in
            request(of: number).map { -1 - $0 } ?? original(of: number)
        }
    }

    private func groupBadges() {
        for number in notifications.indices {
            let notification = notifications[number]
            if world.records[notification.record].addsToBadge {
                badgeNotifications[notification.token, default: []].append(number)
            } else if let request = request(of: number) {
                plainRequests.insert([notification.token, request])
            }
        }
    }

    /// Another request with its name, to the same token, leaves the number alone: the repetition of one counts for the
    /// other, whose failure takes nothing back.
    private func isNamedAsPlain(_ number: Int) -> Bool {
        request(of: number).map { plainRequests.contains([notifications[number].token, $0]) } ?? false
    }

    /// The name by which the request of a notification is remembered.
    private func request(of number: Int) -> Int? {
        options.dedupeWindow > 0 ? world.records[notifications[number].record].request : nil
    }

    /// The notifications of one request have arrived: all of them, or copies of those that have not.
    private func haveArrivedForSure(_ numbers: [Int]) -> Bool {
        numbers.contains(where: hasArrivedForSure)
            && numbers.allSatisfy { hasArrivedForSure($0) || wasOnlyMoved($0) }
    }

    /// It was moved, and nothing took its change of the number back before. If something did, a worker that has the
    /// copy's partition for longer than the urgent lane's worker had its own cannot count it.
    private func wasOnlyMoved(_ number: Int) -> Bool {
        let entry = notifications[number]
        guard isMoved(number), fates[number] == nil, entry.accepted == 0, entry.unanswered == 0, !entry.wasRefused,
            tokens[entry.token].refusedAt == 0
        else { return false }
        let record = world.records[entry.record]
        let mayHaveFailed =
            record.expires > 0 || record.coalescingKey > 0 || record.refusal != nil || !record.poison.isEmpty
            || record.form == .withoutCertificate || isDiscarded(entry.record)
        return !mayHaveFailed && options.certificateGaps.isEmpty && world.gateways[record.topic].disallowedPhases == 0
    }

    private func hasArrivedForSure(_ number: Int) -> Bool {
        guard let fates = fates[number] else { return false }
        return fates.hasArrived && !fates.hasFailed
    }

    /// All of its outcomes say that it did not arrive. Without an outcome that is unknown.
    private func hasFailedForSure(_ number: Int) -> Bool {
        guard let fates = fates[number] else { return false }
        return fates.hasFailed && !fates.hasArrived
    }
}
