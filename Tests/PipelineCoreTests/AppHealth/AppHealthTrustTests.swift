import Testing

@testable import PipelineCore

/// Tombstones are written only on the word of a gateway that accepts, too.
@Suite struct AppHealthTrustTests {
    private var health = AppHealth(limits: .forTests())

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    private mutating func use(share: Double, pending: Int = 1000) {
        health = AppHealth(limits: .forTests(share: share, refusedSample: 1_000_000, pendingTombstones: pending))
    }

    private mutating func accept(_ count: Int, openedAt: UInt64, at second: UInt64? = nil, shard: Int = 0) {
        health.accepted(count, connectionOpenedAt: at(openedAt), shard: shard, now: at(second ?? openedAt))
    }

    @discardableResult
    private mutating func refuse(_ count: Int = 1, at second: UInt64) -> UInt64 {
        var ticket: UInt64 = 0
        for _ in 0..<count { ticket = health.tokenRefused(shard: 0, now: at(second), random: 0) }
        return ticket
    }

    @Test("Tickets ascend from 1, and nothing is trusted before an acceptance")
    mutating func tickets() {
        let tickets = [refuse(at: 1), refuse(at: 1), refuse(at: 2)]
        #expect(tickets == [1, 2, 3])
        #expect(health.trustedThrough == 0)
    }

    @Test("One refusal among many acceptances is trusted with the next acceptance over a newer connection")
    mutating func oneRefusal() {
        accept(1_000_000, openedAt: 0)
        refuse(at: 10)
        accept(1_000_000, openedAt: 9)
        #expect(health.trustedThrough == 0, "the connection is older than the refusal")
        accept(1, openedAt: 10, shard: 3)
        #expect(health.trustedThrough == 1)
    }

    @Test("Acceptances pay in order, one each with a share of a half")
    mutating func inOrder() {
        use(share: 0.5)
        refuse(5, at: 1)
        accept(2, openedAt: 1)
        #expect(health.trustedThrough == 2)
        accept(2, openedAt: 2)
        #expect(health.trustedThrough == 4)
    }

    @Test("Acceptances pay up to the first refusal that is newer than their connection; what is left is forgotten")
    mutating func newerRefusals() {
        refuse(at: 1)
        refuse(at: 5)
        accept(100, openedAt: 3)
        #expect(health.trustedThrough == 1)
        accept(100, openedAt: 4)
        #expect(health.trustedThrough == 1)
        refuse(2, at: 6)
        accept(1, openedAt: 7)
        #expect(health.trustedThrough == 2)
    }

    @Test("No credit is kept while no refusal waits")
    mutating func noCredit() {
        use(share: 0.5)
        refuse(at: 1)
        accept(100, openedAt: 2)
        refuse(2, at: 2)
        #expect(health.trustedThrough == 1)
        accept(1, openedAt: 2)
        #expect(health.trustedThrough == 2)
    }

    @Test(
        "One acceptance pays for share / (1 − share) refusals",
        arguments: [
            (0.2, 3, 0), (0.2, 4, 1), (0.2, 8, 2), (0.75, 1, 3), (0.6, 2, 3), (0.29, 71, 29), (0, 1000, 0), (1, 1, 50),
        ] as [(Double, Int, UInt64)]
    )
    mutating func price(share: Double, acceptances: Int, trusted: UInt64) {
        for isOneByOne in [false, true] {
            use(share: share)
            refuse(50, at: 1)
            if isOneByOne {
                for _ in 0..<acceptances { accept(1, openedAt: 2) }
            } else {
                accept(acceptances, openedAt: 2)
            }
            #expect(health.trustedThrough == trusted)
        }
    }

    @Test("Part of a price is forgotten with the refusal it was paid for")
    mutating func partsOfAPrice() {
        use(share: 0.6)
        refuse(at: 1)
        accept(1, openedAt: 1)
        #expect(health.trustedThrough == 1)
        refuse(2, at: 1)
        accept(1, openedAt: 1)
        #expect(health.trustedThrough == 2, "the half that was left is gone")
    }

    @Test("With a share of 0 no refused token is ever to be tombstoned, and none waits for it")
    mutating func shareOfZero() {
        use(share: 0)
        let ticket = refuse(3, at: 1)
        #expect(ticket == 0)
    }

    @Test("Too many that wait: the newest is never to be tombstoned, and takes no ticket")
    mutating func bound() {
        use(share: 0.5, pending: 20)
        let full = [refuse(20, at: 1), refuse(5, at: 1)]
        #expect(full == [20, 0])
        accept(1, openedAt: 1)
        let afterOne = [refuse(at: 2), refuse(at: 2)]
        #expect(afterOne == [21, 0])
        accept(100, openedAt: 1)
        #expect(health.trustedThrough == 20, "the ring keeps each refusal's own time")
        accept(100, openedAt: 2)
        #expect(health.trustedThrough == 21)
    }

    @Test("A stop for another reason does not keep acceptances from paying")
    mutating func otherStops() {
        refuse(at: 1)
        health.failed(.unreachable, now: at(1), random: 0)
        accept(1, openedAt: 1)
        #expect(health.trustedThrough == 1 && health.isStopped)
    }

    @Test("While the gateway is doubted nothing is paid, not by the sample either; when it works again, it is")
    mutating func doubted() {
        use(share: 0.5)
        refuse(at: 1)
        health.failed(.tokensDoubted, now: at(1), random: 0)
        accept(5, openedAt: 2)
        #expect(health.trustedThrough == 0)
        let isGranted = health.beginProbe(shard: 0, now: at(100), random: 0)
        #expect(isGranted)
        accept(1, openedAt: 100)
        #expect(health.isProbing(by: 0) && health.trustedThrough == 0)
        let ticket = refuse(at: 100)
        #expect(ticket == 2, "refusals of the sample wait like all others")
        accept(1, openedAt: 100)
        #expect(health.works && health.trustedThrough == 0)
        accept(2, openedAt: 100)
        #expect(health.trustedThrough == 2)
    }

    @Test("A gateway that refuses 100 % gets no tombstone, at any size of topic", arguments: [1, 9, 10, 500, 5000])
    mutating func wrongGateway(tokens: Int) {
        health = AppHealth(limits: .forTests())
        accept(1000, openedAt: 0)
        var second: UInt64 = 1
        for _ in 0..<tokens {
            refuse(at: second)
            second += 1
            _ = health.beginProbe(shard: 0, now: at(second), random: 0)
        }
        accept(1000, openedAt: 0)
        #expect(health.trustedThrough == 0)
    }

    // MARK: Connections that begin with a refusal

    /// The gateway refuses the first notification of a connection.
    @discardableResult
    private mutating func refuseFirst(at second: UInt64, isKnown: Bool = true) -> UInt64 {
        health.tokenRefused(shard: 0, isKnown ? .firstThoughKnown : .first, now: at(second), random: 0)
    }

    /// Tickets that are believed, as they are for a caller that asks after every step.
    private func isBelieved(_ ticket: UInt64) -> Bool {
        ticket > health.distrustedThrough && ticket <= health.trustedThrough
    }

    @Test("One refusal behind an acceptance is believed with the next acceptance over a newer connection")
    mutating func behindAnAcceptance() {
        accept(1, openedAt: 1)
        let ticket = refuse(at: 2)
        #expect(!isBelieved(ticket))
        accept(1, openedAt: 2)
        #expect(isBelieved(ticket) && health.distrustedThrough == 0)
    }

    @Test("A list may begin with dead tokens: a few of those that come first on connections are believed, no more")
    mutating func deadFirst() {
        use(share: 0.5)
        accept(1, openedAt: 0)
        var tickets: [UInt64] = []
        for _ in 1..<TokenTrust.longestRow { tickets.append(refuseFirst(at: 2, isKnown: false)) }
        accept(1000, openedAt: 3)
        #expect(tickets.prefix(TokenTrust.mostFirst).allSatisfy(isBelieved))
        #expect(tickets.dropFirst(TokenTrust.mostFirst).allSatisfy { $0 == 0 })
    }

    @Test(
        "After a row of connections that begin with a refusal nothing is believed, if it is long, or has lasted a while"
    )
    mutating func rows() {
        use(share: 0.5)
        accept(1, openedAt: 0)
        refuse(at: 1)
        for _ in 1...TokenTrust.longestRow { refuseFirst(at: 2, isKnown: false) }
        #expect(health.distrustedThrough == UInt64(TokenTrust.mostFirst + 1))
        accept(1000, openedAt: 3)
        #expect(health.trustedThrough == 0)
        refuse(at: 9)
        for _ in 1..<TokenTrust.row { refuseFirst(at: 10, isKnown: false) }
        refuseFirst(at: 15, isKnown: false)
        accept(1000, openedAt: 16)
        #expect(health.trustedThrough == 0)
    }

    @Test("While nothing was ever accepted, a connection that begins with a refusal is not believed")
    mutating func nothingAccepted() {
        let ticket = refuseFirst(at: 2, isKnown: false)
        accept(1000, openedAt: 3)
        #expect(ticket == 0 && health.trustedThrough == 0)
    }

    @Test("An acceptance over a newer connection ends the row")
    mutating func rowEnds() {
        use(share: 0.5)
        accept(1, openedAt: 0)
        for second in 1...100 as ClosedRange<UInt64> {
            let ticket = refuseFirst(at: second, isKnown: false)
            #expect(ticket == second)
            accept(1, openedAt: second)
        }
        #expect(health.trustedThrough == 100)
    }

    @Test("Acceptances over an older connection end the row only when those from before it are known, and pay nothing")
    mutating func oldAcceptances() {
        use(share: 0.5)
        accept(1, openedAt: 0)
        for _ in 0..<TokenTrust.mostFirst {
            #expect(refuseFirst(at: 2, isKnown: false) > 0)
            accept(1, openedAt: 1, at: 6)
        }
        #expect(refuseFirst(at: 6, isKnown: false) == 0)
        accept(1, openedAt: 1, at: 7)
        #expect(refuseFirst(at: 7, isKnown: false) > 0)
        #expect(health.trustedThrough == 0)
    }

    @Test("A refusal that has waited for half a minute is not believed any more, and later ones still may be")
    mutating func patience() {
        let tickets = [refuse(at: 1), refuse(at: 10)]
        health.tick(now: at(30), random: 0)
        #expect(health.distrustedThrough == 0)
        health.tick(now: at(31), random: 0)
        #expect(health.distrustedThrough == 1)
        accept(100, openedAt: 31)
        #expect(!isBelieved(tickets[0]) && isBelieved(tickets[1]))
    }

    @Test("Part of a price that was paid for a refusal that waited for too long is forgotten with it")
    mutating func partOfAPriceExpired() {
        use(share: 0.2)
        refuse(at: 1)
        refuse(at: 2)
        accept(3, openedAt: 2)
        health.tick(now: at(31), random: 0)
        accept(3, openedAt: 2)
        #expect(health.trustedThrough == 0)
        accept(1, openedAt: 2)
        #expect(health.trustedThrough == 2)
    }

    @Test("A known token refused as the first thing on a connection has no ticket, and drops what waits")
    mutating func firstThing() {
        let waiting = [refuse(at: 1), refuse(at: 2)]
        let first = refuseFirst(at: 3)
        #expect(first == 0 && health.distrustedThrough == 2)
        accept(1000, openedAt: 4)
        #expect(!waiting.contains(where: isBelieved))
        let next = refuse(at: 5)
        #expect(next == 3)
        accept(1, openedAt: 5)
        #expect(isBelieved(3) && !waiting.contains(where: isBelieved))
    }

    @Test("A refusal that was believed before stays so, and with none waiting there is none to drop")
    mutating func believedBefore() {
        refuse(at: 1)
        accept(1, openedAt: 1)
        refuseFirst(at: 2)
        #expect(health.trustedThrough == 1 && health.distrustedThrough == 0)
    }

    @Test("Part of a price that was paid for a dropped refusal is forgotten with it")
    mutating func partOfAPriceDropped() {
        use(share: 0.2)
        refuse(at: 1)
        accept(3, openedAt: 1)
        refuseFirst(at: 2)
        refuse(at: 3)
        accept(3, openedAt: 3)
        #expect(health.trustedThrough == 0)
        accept(1, openedAt: 3)
        #expect(health.trustedThrough == 2)
    }

    @Test("Dropped refusals make room for others, and each keeps its own time")
    mutating func roomAfterDrop() {
        use(share: 0.5, pending: 20)
        refuse(15, at: 1)
        refuseFirst(at: 2)
        let tickets = [refuse(20, at: 5), refuse(at: 5)]
        #expect(tickets == [35, 0])
        accept(100, openedAt: 4)
        #expect(health.trustedThrough == 0, "none of them was made before")
        accept(20, openedAt: 5)
        #expect(health.trustedThrough == 35 && health.distrustedThrough == 15)
    }

    @Test(
        "A wrong gateway that is repaired in place never gets its refusals believed",
        arguments: [(0.5, 2), (0.5, 50), (1, 2), (1, 500), (0.2, 7)] as [(Double, Int)]
    )
    mutating func repairedInPlace(share: Double, refusals: Int) {
        use(share: share)
        accept(1000, openedAt: 0)
        // It goes wrong behind an acceptance; every later connection begins with a refusal.
        var tickets = [refuse(at: 1)]
        for index in 1..<refusals { tickets.append(refuseFirst(at: 1 + UInt64(index))) }
        let repaired = UInt64(refusals) + 2
        accept(100_000, openedAt: repaired, shard: 1)
        accept(100_000, openedAt: repaired + 1)
        #expect(!tickets.contains(where: isBelieved))
        #expect(tickets.dropFirst().allSatisfy { $0 == 0 })
    }

    @Test("A connection that begins with the refusal of a known token at one shard drops what waits from all")
    mutating func acrossShards() {
        let ticket = health.tokenRefused(shard: 1, now: at(1), random: 0)
        _ = health.tokenRefused(shard: 2, .firstThoughKnown, now: at(2), random: 0)
        accept(10, openedAt: 3, shard: 3)
        #expect(ticket == 1 && !isBelieved(ticket))
    }

    @Test("A refusal that comes first counts against the gateway like any other")
    mutating func firstCounts() {
        health = AppHealth(limits: .forTests())
        for second in 1...1000 as ClosedRange<UInt64> where health.works { refuseFirst(at: second) }
        #expect(health.reason == .tokensDoubted)
    }
}
