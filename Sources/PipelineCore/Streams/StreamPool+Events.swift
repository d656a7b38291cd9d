import APNsProtocol

/// News from connections.
extension StreamPool {
    /// Bytes came from the peer, whatever they mean: it lives.
    public mutating func heard(_ number: UInt32, now: MonotonicTime) {
        guard let index = index(of: number) else { return }
        connections[index].hasSpoken = true
        hear(index, now: now)
    }

    /// A request on the connection was answered. Its stream ends with ``streamClosed(_:isRefused:now:random:)``.
    ///
    /// - Parameters:
    ///   - answer: the meaning of status and reason, see ``ProviderAnswer/verdict``.
    ///   - random: 64 random bits.
    public mutating func answered(
        _ number: UInt32,
        stream: Int32,
        _ answer: ProviderVerdict,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) {
        guard let index = index(of: number) else { return }
        let wasUseful = connections[index].hasAccepted
        connections[index].hasAnswered = true
        connections[index].newestAnswered = max(connections[index].newestAnswered, stream)
        connections[index].isTrying = false
        connections[index].refusedTries = 0
        if connections[index].ownLimit < connections[index].peerLimit { connections[index].ownLimit += 1 }
        switch answer {
        case .accepted:
            connections[index].hasAccepted = true
            prove(index, now: now)
            noteUse()
        case .rejected, .topicRefused, .deadLetter, .tokenDead, .tokenRefused, .retryTokenLater, .backOff:
            noteUse()
        case .doesNotWork:
            break
        case .reconnect:
            guard connections[index].phase == .open else { return }
            connections[index].phase = .draining
            if !wasUseful { countFailure(.other, now: now, random: random()) }
        case .reconnectOnce:
            // Others that say the same about the same token are no news.
            guard connections[index].phase == .open else { return }
            renew()
            if !wasUseful { countFailure(.other, now: now, random: random()) }
        }
    }

    /// A request on the connection was not answered in time. The caller resets its stream, whose end follows.
    ///
    /// A connection that has answered nothing sent since then answers pings at best: it takes no more.
    ///
    /// - Parameter random: 64 random bits.
    /// - Returns: the connection has answered a request that was sent after this one.
    public mutating func timedOut(
        _ number: UInt32,
        stream: Int32,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> Bool {
        guard let index = index(of: number) else { return false }
        if connections[index].newestAnswered > stream { return true }
        guard connections[index].phase == .open else { return false }
        connections[index].phase = .draining
        countFailure(.other, now: now, random: random())
        return false
    }

    /// The peer takes no new streams on the connection.
    ///
    /// A certificate of the wrong environment gets no answer, only this [field], so that it looks like the network.
    ///
    /// - Parameters:
    ///   - reason: from the debug data; nil: there is none.
    ///   - isError: the code is another than NO_ERROR.
    ///   - random: 64 random bits.
    /// - Returns: the extent to which the credential does not work, once two connections in a row said so; nil if this
    ///   one is only kept warm.
    public mutating func goAway(
        _ number: UInt32,
        reason: ProviderReason?,
        isError: Bool,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> ProviderVerdict.Extent? {
        guard let index = index(of: number) else { return nil }
        if connections[index].phase == .open {
            connections[index].phase = .draining
            if isError || !connections[index].hasAnswered {
                countFailure(.other, of: connections[index], now: now, random: random())
            }
        }
        connections[index].isDismissed = !isError
        guard !connections[index].hasAnswered, case .doesNotWork(let extent)? = reason?.entry?.verdict else {
            return nil
        }
        guard !isOnTrial(index) else { return nil }
        if !connections[index].hasRefusedCredential { credentialRefusals += 1 }
        connections[index].hasRefusedCredential = true
        guard credentialRefusals >= 2 else { return nil }
        // Nothing would probe a topic that stopped without a request.
        return isOnlyWarm(connections[index], now: now) ? nil : extent
    }

    /// The connection opens no streams any more, for example because their numbers are used up.
    public mutating func usedUp(_ number: UInt32) {
        guard let index = index(of: number), connections[index].phase == .open else { return }
        connections[index].phase = .draining
    }

    /// A connection, or the attempt to make one, has ended.
    ///
    /// - Parameters:
    ///   - sharers: see ``StreamLoss/sharers``.
    ///   - random: 64 random bits.
    /// - Returns: for the queues with requests on it; nil if the pool had let go of it before.
    public mutating func ended(
        _ number: UInt32,
        _ end: ConnectionEnd,
        sharers: Int = 0,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> StreamLoss? {
        guard let index = index(of: number) else { return nil }
        let wasOnTrial = isOnTrial(index)
        if wasOnTrial { trialFailed(now: now, random: random()) }
        let connection = connections.remove(at: index)
        shrinking.closed(connection.openStreams)
        let loss = StreamLoss(
            connection: number,
            openedAt: connection.openedAt,
            endedAt: now,
            isSilent: end == .failed && connection.phase != .connecting && !connection.isDismissed,
            isUnread: end == .certificateRefused || end == .foreignProtocol,
            inFlight: connection.openStreams,
            sharers: sharers
        )
        switch end {
        case .closedHere:
            break
        case .certificateRefused:
            // Connections with the former credential go on.
            countFailure(wasOnTrial ? .other : .credential, of: connection, now: now, random: random())
        case .failed, .peerDead:
            // The reason to drain was a failure or none.
            guard connection.phase != .draining else { break }
            // Each such end leaves fewer queues here.
            guard !loss.separates else {
                waitShortly(after: loss, random: random())
                break
            }
            let cause = connection.phase == .connecting ? WaitCause.gateway : .other
            countFailure(cause, of: connection, now: now, random: random())
        case .foreignProtocol:
            countFailure(.gateway, of: connection, now: now, random: random())
        }
        return loss
    }

    /// The queues that may be the reason for an end go apart, so the others wait as shortly as the rules allow.
    /// A longer wait that has begun for another reason goes on.
    private mutating func waitShortly(after loss: StreamLoss, random: UInt64) {
        let floor = limits.backoff.floor
        let backoff = Backoff(base: floor * 2, cap: floor * 2, floor: floor)
        let from = loss.endedAt + backoff.delay(failures: 1, random: random)
        guard connectsFrom < from else { return }
        waitCause = .other
        connectsFrom = from
    }

    // MARK: From outside

    /// All connections take no more: they were opened with a credential that is not used any longer.
    public mutating func renew() {
        for index in connections.indices where connections[index].phase == .open {
            connections[index].phase = .draining
        }
    }

    /// Another credential has a connection to the same gateway: shortens the wait after an attempt that failed.
    public mutating func gatewayAnswers(now: MonotonicTime) {
        if waitCause == .gateway { connectsFrom = min(connectsFrom, now + limits.backoff.floor) }
    }

    /// Ends the wait for a refused credential: the breaker decides on the next attempt. It may have stopped long before
    /// the refusal, for another pool, so the floor after a failure stays.
    public mutating func retryCredential() {
        if waitCause == .credential { connectsFrom = min(connectsFrom, floorEndsAt) }
    }

    /// The connections are of use.
    private mutating func noteUse() {
        failures = 0
        credentialRefusals = 0
    }
}
