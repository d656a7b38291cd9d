import APNsProtocol
import PipelineCore

/// Answers of a gateway to requests over HTTP/2.
extension SimulatedGateway {
    /// The gateway's treatment of one request.
    enum RequestFate {
        case accepted
        case answered(ProviderAnswer)
        /// Its stream is reset, whether it was accepted or not.
        case reset(isAccepted: Bool)
        /// Its stream is refused: it was not looked at.
        case streamRefused
        /// Nothing more is heard of it.
        case unanswered(isAccepted: Bool)
        /// The gateway closes the connection without a word.
        case hangUp
    }

    /// Longest time from a request to the reading of its answer while nothing is slow.
    private static let answerReserve = VirtualTime.seconds(2)
    /// The times since when invalid tokens are dead, for answers that name one, UNIX seconds: after tokens have
    /// registered first; long before, as a service says that has not heard of a registration; and just now.
    private var timesOfDeath: [UInt32] {
        let start = World.unixSeconds(World.start)
        return [start - 500, start - 1500, World.unixSeconds(now)]
    }

    func healStreams() {
        limit = (0, 0)
        refusesStreamsUntil = 0
        resetsStreamsUntil = 0
        muteUntil = 0
        trouble = (0, 0)
        throttlesUntil = 0
        disallowsTopicUntil = 0
        for connection in streamed { connection.limitStreams() }
    }

    /// Streams that it allows on a connection now.
    var allowedStreams: Int { now < limit.until ? limit.streams : world.plan.options.mostStreams }

    /// - Parameter edition: of the connection's certificate; nil: the request carries a provider token.
    func fate(record: Int, token: Int, edition: UInt64?) -> RequestFate {
        let isKeyed = edition == nil
        if now < refusesStreamsUntil { return .streamRefused }
        if let end = endWithoutAnswer(record: record, token: token) {
            world.auditor.leftUnanswered(record: record, token: token)
            return end
        }
        if let refusal = nextRefusal {
            nextRefusal = nil
            return fate(of: refusal.status, record: record, token: token, isKeyed: isKeyed)
        }
        if let edition, refuses(edition: edition) { return answer(403, .badCertificate) }
        if now < refusesCertificateUntil {
            return topic.isMultiple(of: 2) ? answer(403, .invalidProviderToken) : answer(403, .forbidden)
        }
        if now < disallowsTopicUntil { return disallow(record: record, token: token) }
        if now < trouble.until, world.dice.chance(trouble.percent) {
            switch world.dice.pick(0...9) {
            case 0: return tryLater(503, .shutdown, record: record, token: token)
            case 1...4: return tryLater(500, .internalServerError, record: record, token: token)
            default: return tryLater(503, .serviceUnavailable, record: record, token: token)
            }
        }
        if now < throttlesUntil, token.isMultiple(of: 3) {
            return tryLater(429, .tooManyRequests, record: record, token: token)
        }
        return judgeToken(record: record, token: token)
    }

    private func endWithoutAnswer(record: Int, token: Int) -> RequestFate? {
        if isPoisoned(record, token) { return .hangUp }
        if now < muteUntil { return .unanswered(isAccepted: world.dice.chance(50)) }
        if now < resetsStreamsUntil { return .reset(isAccepted: world.dice.chance(50)) }
        return nil
    }

    /// The token gets too much, or the service is in trouble. After the longest time of attempts that ends the
    /// notification, whichever answers came before.
    private func tryLater(_ status: Int, _ reason: ProviderReason, record: Int, token: Int) -> RequestFate {
        let since = retriedSince[[record, token]] ?? now
        retriedSince[[record, token]] = since
        if now + Self.answerReserve >= since + World.retryFor {
            world.auditor.refusedForGood(record: record, token: token)
        }
        return answer(status, reason)
    }

    /// The topic is refused. A worker that meets few such answers gives the notification up after some attempts.
    private func disallow(record: Int, token: Int) -> RequestFate {
        retriedSince[[record, token]] = retriedSince[[record, token]] ?? now
        disallowed[[record, token], default: 0] += 1
        if disallowed[[record, token], default: 0] >= TopicRefusals.attempts {
            world.auditor.refusedForGood(record: record, token: token)
        }
        return answer(400, .topicDisallowed)
    }

    /// The token is refused with the time since when it is dead.
    func namesTimeOfDeath(of token: Int) -> Bool {
        world.plan.options.isOverStreams(topic) && invalid.contains(token) && token.isMultiple(of: 2)
    }

    private func judgeToken(record: Int, token: Int) -> RequestFate {
        let isInvalid = invalid.contains(token)
        guard isInvalid || now < refusesEverythingUntil else { return .accepted }
        let isDated = namesTimeOfDeath(of: token)
        world.auditor.refused(record: record, token: token, isDated: isDated)
        guard isDated else { return answer(400, .badDeviceToken) }
        let times = timesOfDeath
        return answer(410, .unregistered, timestamp: Int64(times[token / 2 % times.count]) * 1000)
    }

    /// The refusal of one request, chosen by the status that the binary protocol would have.
    private func fate(of status: APNsStatus, record: Int, token: Int, isKeyed: Bool) -> RequestFate {
        switch status {
        case .invalidPayloadSize:
            world.auditor.refusedForGood(record: record, token: token)
            return answer(413, .payloadTooLarge)
        case .protocolError:
            world.auditor.refusedForGood(record: record, token: token)
            return answer(405, .methodNotAllowed)
        case .missingTopic: return isKeyed ? answer(403, .expiredProviderToken) : answer(400, .idleTimeout)
        case .invalidTopicSize: return isKeyed ? answer(403, .unrelatedKeyID) : answer(403, .forbidden)
        case .unknown: return isKeyed ? answer(429, .tooManyProviderTokenUpdates) : .reset(isAccepted: false)
        case .noErrors: return .hangUp
        default: return tryLater(500, .internalServerError, record: record, token: token)
        }
    }

    private func answer(_ status: Int, _ reason: ProviderReason, timestamp: Int64? = nil) -> RequestFate {
        let time = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        let body = Array(#"{"reason":"\#(reason.rawValue)"\#(time)}"#.utf8)
        return .answered(body.withUnsafeBytes { ProviderAnswer(status: status, id: nil, body: $0) })
    }
}
