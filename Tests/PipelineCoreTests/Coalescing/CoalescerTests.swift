import Testing

@testable import PipelineCore

@Suite struct CoalescerTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let backlog = Coalescer.Gate.backlog(assignment: 1)
    private let lane = Coalescer.Gate.lane(topic: 0, number: 0)

    private func later(_ milliseconds: Int64) -> MonotonicTime { start + .milliseconds(milliseconds) }

    /// A request published at a time; tickets count arrivals.
    private func request(_ ticket: UInt64, at milliseconds: Int64, expiration: UInt32 = 0) -> Coalescer.Request {
        .init(
            ticket: ticket,
            stamp: .init(milliseconds: milliseconds, offset: Int64(ticket), token: 0),
            expiration: expiration
        )
    }

    @Test("A request that nothing holds goes on at once, and no other waits for it")
    func passes() {
        var coalescer = Coalescer(patience: .seconds(5))
        #expect(coalescer.comes(request(1, at: 10), subject(1), start, .none, []) == .passes)
        #expect(coalescer.isEmpty && coalescer.gates.isEmpty)
        #expect(coalescer.comes(request(2, at: 5), subject(1), start, .none, []) == .passes)
    }

    @Test("Of those that wait for a backlog the newest by publish time is due, when the backlog has been seen")
    func backlogIsSeen() {
        var coalescer = Coalescer(patience: .seconds(5))
        let waits = [Coalescer.Wait(backlog, until: 100)]
        #expect(coalescer.comes(request(1, at: 10), subject(1), start, .none, waits) == .opens(group: 0))
        #expect(coalescer.comes(request(2, at: 30), subject(1), start, .none, []) == .joins(superseded: [1]))
        #expect(coalescer.comes(request(3, at: 20), subject(1), start, .none, []) == .joins(superseded: [3]))
        coalescer.passed(backlog, upTo: 99)
        #expect(coalescer.due(later(1)) == Coalescer.Settled())
        coalescer.passed(backlog, upTo: 100)
        #expect(coalescer.due(later(1)).due.map(\.ticket) == [2])
        #expect(coalescer.isEmpty && coalescer.gates.isEmpty)
    }

    @Test("When one that arrived before comes once more, what waits and is older is superseded, what is newer waits on")
    func arrivedBefore() {
        var coalescer = Coalescer(patience: .seconds(5))
        let waits = [Coalescer.Wait(backlog, until: 100)]
        _ = coalescer.comes(request(1, at: 10, expiration: 90), subject(1), start, .none, waits)
        _ = coalescer.comes(request(2, at: 30, expiration: 50), subject(1), start, .none, [])
        _ = coalescer.comes(request(3, at: 10), subject(2), start, .none, waits)
        let stamp = Coalescer.Stamp(milliseconds: 20, offset: 9, token: 0)
        #expect(coalescer.arrivedBefore(stamp, of: subject(1)) == [1])
        #expect(coalescer.arrivedBefore(stamp, of: subject(2)) == [3])
        #expect(coalescer.arrivedBefore(stamp, of: subject(3)).isEmpty)
        coalescer.passed(backlog, upTo: 100)
        #expect(coalescer.due(later(1)).due.map(\.ticket) == [2])
        #expect(coalescer.isEmpty)
    }

    @Test("Published in the same millisecond, the higher offset is newer; in one record the later token")
    func ties() {
        typealias Stamp = Coalescer.Stamp
        let stamps = [
            Stamp(milliseconds: 1, offset: 9, token: 9), Stamp(milliseconds: 2, offset: 1, token: 5),
            Stamp(milliseconds: 2, offset: 2, token: 0), Stamp(milliseconds: 2, offset: 2, token: 1),
        ]
        #expect(stamps.shuffled().sorted() == stamps)
    }

    @Test("The same request once more supersedes the first only when their group is let go, and is sent in its place")
    func sameStamp() {
        var coalescer = Coalescer(patience: .seconds(5))
        let first = request(1, at: 10)
        let again = Coalescer.Request(ticket: 2, stamp: first.stamp, expiration: 0)
        _ = coalescer.comes(first, subject(1), start, .none, [.init(backlog, until: 1)])
        #expect(coalescer.comes(again, subject(1), start, .none, []) == .joins(superseded: []))
        coalescer.passed(backlog, upTo: 1)
        let settled = coalescer.due(start)
        #expect(settled.due.map(\.ticket) == [2] && settled.superseded == [1])
    }

    @Test("Groups of other keys and bundles are let go each on its own, in the order of arrival")
    func groupsAreApart() {
        var coalescer = Coalescer(patience: .seconds(5))
        let other = Coalescer.Subject(topic: 1, fingerprint: subject(1).fingerprint)
        for (ticket, subject) in zip(1..., [subject(1), subject(2), other]) as Zip2Sequence<PartialRangeFrom<UInt64>, _>
        {
            #expect(
                coalescer.comes(request(ticket, at: 1), subject, start, .none, [.init(backlog, until: ticket)])
                    == .opens(group: ticket - 1)
            )
        }
        coalescer.passed(backlog, upTo: 2)
        #expect(coalescer.due(start).due.map(\.ticket) == [1, 2])
        coalescer.passed(backlog, upTo: .max)
        #expect(coalescer.due(start).due.map(\.subject) == [other])
    }

    @Test("A backlog is not waited for beyond patience, a lane is, and both must be passed")
    func patience() {
        var coalescer = Coalescer(patience: .seconds(5))
        let waits = [Coalescer.Wait(backlog, until: 100), .init(lane, until: 7)]
        #expect(coalescer.comes(request(1, at: 1), subject(1), start, .none, waits) == .opens(group: 0))
        #expect(coalescer.comes(request(2, at: 1), subject(2), start, .none, [waits[0]]) == .opens(group: 1))
        #expect(coalescer.due(later(4999)).due.isEmpty)
        #expect(coalescer.due(later(5000)).due.map(\.ticket) == [2])
        coalescer.passed(lane, upTo: 6)
        #expect(coalescer.due(later(100_000)).due.isEmpty)
        coalescer.passed(lane, upTo: 7)
        #expect(coalescer.due(later(100_000)).due.map(\.ticket) == [1])
    }

    @Test("A window is over at its end, not before, for windows opened in any order")
    func windows() {
        var coalescer = Coalescer(patience: .seconds(5))
        for ticket in 1...20 as ClosedRange<UInt64> {
            #expect(
                coalescer.comes(request(ticket, at: 1), subject(ticket), start, .unknown, [])
                    == .opens(group: ticket - 1)
            )
        }
        #expect(coalescer.due(later(100_000)).due.isEmpty, "their ends are not known yet")
        // 7 has no common factor with 20: every end once.
        for group in 0..<20 as Range<UInt64> { coalescer.windowEnds(group, at: later(Int64(group * 7 % 20))) }
        for time in 0..<20 as Range<Int64> {
            let due = coalescer.due(later(time)).due
            #expect(due.map { $0.ticket - 1 } == (0..<20).filter { $0 * 7 % 20 == time } && due.allSatisfy(\.hadWindow))
        }
        #expect(coalescer.isEmpty)
    }

    @Test("One that expires before an older one does not take its place until it is certain that it lives")
    func expiration() {
        for now in [99, 100, 101] as [Int64] {
            var coalescer = Coalescer(patience: .seconds(5))
            let waits = [Coalescer.Wait(backlog, until: 1)]
            _ = coalescer.comes(request(1, at: 10), subject(1), start, .none, waits)
            #expect(
                coalescer.comes(request(2, at: 20, expiration: 100), subject(1), start, .none, [])
                    == .joins(superseded: [])
            )
            coalescer.passed(backlog, upTo: 1)
            let settled = coalescer.takeDue(now: start, unixSeconds: now)
            #expect(settled.due.map(\.ticket) == [now > 100 ? 1 : 2])
            #expect(settled.superseded == (now > 100 ? [] : [1]) && settled.expired == (now > 100 ? [2] : []))
        }
    }

    @Test("All that a request supersedes leave their group with it")
    func several() {
        var coalescer = Coalescer(patience: .seconds(5))
        let waits = [Coalescer.Wait(backlog, until: 1)]
        _ = coalescer.comes(request(1, at: 10, expiration: 400), subject(1), start, .none, waits)
        for (ticket, expiration) in [(2, 300), (3, 200), (4, 100)] as [(UInt64, UInt32)] {
            let come = request(ticket, at: Int64(ticket) * 10, expiration: expiration)
            #expect(coalescer.comes(come, subject(1), start, .none, []) == .joins(superseded: []))
        }
        let last = request(5, at: 50, expiration: 300)
        #expect(coalescer.comes(last, subject(1), start, .none, []) == .joins(superseded: [2, 3, 4]))
    }

    @Test("Where all have expired nothing is due")
    func allExpired() {
        var coalescer = Coalescer(patience: .seconds(5))
        _ = coalescer.comes(request(1, at: 10, expiration: 50), subject(1), start, .none, [.init(backlog, until: 1)])
        _ = coalescer.comes(request(2, at: 20, expiration: 40), subject(1), start, .none, [])
        coalescer.passed(backlog, upTo: 1)
        let settled = coalescer.takeDue(now: start, unixSeconds: 51)
        #expect(settled == Coalescer.Settled(due: [], superseded: [], expired: [1, 2]))
        #expect(coalescer.isEmpty)
    }

    @Test("Waiting requests of an assignment are forgotten with it, and one that is left takes their place")
    func forget() {
        var coalescer = Coalescer(patience: .seconds(5))
        let waits = [Coalescer.Wait(backlog, until: 100)]
        _ = coalescer.comes(request(1, at: 10), subject(1), start, .none, waits)
        _ = coalescer.comes(request(2, at: 10), subject(2), start, .none, waits)
        _ = coalescer.comes(request(3, at: 20, expiration: 100), subject(1), start, .none, [])
        coalescer.forget([(3, subject(1)), (9, subject(2)), (10, subject(3))])
        #expect(!coalescer.isEmpty && coalescer.waits(0) && coalescer.waits(1))
        coalescer.forget([(2, subject(2)), (1, subject(1))])
        #expect(coalescer.isEmpty && !coalescer.waits(0))
        coalescer.passed(backlog, upTo: .max)
        #expect(coalescer.due(later(9000)) == Coalescer.Settled())
        #expect(coalescer.comes(request(4, at: 1), subject(1), start, .none, waits) == .opens(group: 2), "a group anew")
    }

    @Test("When many waits are over, as many end as are asked for, and the rest next")
    func mostWaits() {
        var coalescer = Coalescer(patience: .seconds(5))
        for ticket in 1...5 as ClosedRange<UInt64> {
            _ = coalescer.comes(request(ticket, at: 10), subject(ticket), start, .none, [.init(backlog, until: 1)])
        }
        for left in [3, 1, 0] {
            coalescer.pass(most: 2) { _ in 1 }
            let settled = coalescer.takeDue(now: start, unixSeconds: 0)
            #expect(settled.due.map(\.ticket) == Array(UInt64(left == 0 ? 5 : 4 - left)...UInt64(5 - left)))
            #expect(coalescer.isUnfinished == (left > 0))
        }
        #expect(coalescer.isEmpty && coalescer.gates.isEmpty)
    }

    @Test(
        "While waits are left that are over, there is more to do, though no group is let go of yet",
        arguments: [true, false]
    )
    func leftWaits(haveWindows: Bool) {
        var coalescer = Coalescer(patience: .seconds(5))
        let window: Coalescer.Window = haveWindows ? .ends(later(5000)) : .none
        // The lane holds all groups to the end.
        var waits = [Coalescer.Wait(lane, until: 1)]
        if !haveWindows { waits.append(.init(backlog, until: 1)) }
        for ticket in 1...5 as ClosedRange<UInt64> {
            _ = coalescer.comes(request(ticket, at: 10), subject(ticket), start, window, waits)
        }
        for isUnfinished in [true, true, false] {
            let settled = coalescer.takeDue(now: later(5000), unixSeconds: 0, most: 2)
            #expect(settled == Coalescer.Settled() && coalescer.isUnfinished == isUnfinished)
        }
    }

    @Test("Of many gates the one that was waited for first is passed first, in every process")
    func gateOrder() {
        var coalescer = Coalescer(patience: .seconds(5))
        for ticket in 1...20 as ClosedRange<UInt64> {
            let gate = Coalescer.Gate.lane(topic: Int32(ticket * 7 % 20), number: 0)
            _ = coalescer.comes(request(ticket, at: 10), subject(ticket), start, .none, [.init(gate, until: 1)])
        }
        for ticket in 1...20 as ClosedRange<UInt64> {
            coalescer.pass(most: 1) { _ in 1 }
            #expect(coalescer.due(start).due.map(\.ticket) == [ticket])
        }
    }

    @Test("A group that waits for the backlog of an assignment that has ended waits for it no more")
    func forgottenGate() {
        var coalescer = Coalescer(patience: .seconds(5))
        _ = coalescer.comes(request(1, at: 10), subject(1), start, .none, [.init(backlog, until: 100)])
        _ = coalescer.comes(request(2, at: 20, expiration: 100), subject(1), start, .none, [])
        coalescer.forget([(1, subject(1))])
        coalescer.passed(backlog, upTo: .max)
        #expect(coalescer.due(start).due.map(\.ticket) == [2])
    }

    @Test("Of many that are due the first comers go first, as many as are asked for, and the rest next")
    func most() {
        var coalescer = Coalescer(patience: .seconds(5))
        for ticket in 1...5 as ClosedRange<UInt64> {
            // The later it comes, the earlier it is let go.
            let wait = Coalescer.Wait(.lane(topic: 0, number: Int(ticket)), until: 1)
            _ = coalescer.comes(request(ticket, at: 10), subject(ticket), start, .none, [wait])
        }
        #expect(coalescer.due(start) == Coalescer.Settled() && !coalescer.isUnfinished)
        for number in (1...5).reversed() { coalescer.passed(.lane(topic: 0, number: number), upTo: 1) }
        var tickets: [[UInt64]] = []
        repeat {
            tickets.append(coalescer.takeDue(now: start, unixSeconds: 0, most: 2).due.map(\.ticket))
        } while coalescer.isUnfinished
        #expect(tickets == [[1, 2], [3, 4], [5]] && coalescer.isEmpty)
    }

    @Test("Of many windows that are over as many end as are asked for, and the rest next")
    func mostWindows() {
        var coalescer = Coalescer(patience: .seconds(5))
        for ticket in 1...5 as ClosedRange<UInt64> {
            _ = coalescer.comes(request(ticket, at: 10), subject(ticket), start, .ends(later(1000)), [])
        }
        var tickets: [[UInt64]] = []
        repeat {
            tickets.append(coalescer.takeDue(now: later(1000), unixSeconds: 0, most: 2).due.map(\.ticket))
        } while coalescer.isUnfinished
        #expect(tickets == [[1, 2], [3, 4], [5]] && coalescer.isEmpty)
    }
}

private func subject(_ number: UInt64) -> Coalescer.Subject {
    let fingerprint = [number].withUnsafeBytes { RequestFingerprint(token: $0, key: SipHash(low: 0, high: 0)) }
    return .init(topic: 0, fingerprint: fingerprint)
}

extension Coalescer {
    /// As ``arrive(_:of:now:window:waits:)``, for use in expectations.
    fileprivate mutating func comes(
        _ request: Request,
        _ subject: Subject,
        _ now: MonotonicTime,
        _ window: Window,
        _ waits: [Wait]
    ) -> Arrival {
        arrive(request, of: subject, now: now, window: window, waits: waits)
    }

    /// One gate has reached a position.
    mutating func passed(_ gate: Gate, upTo position: UInt64) {
        pass { $0 == gate ? position : 0 }
    }

    fileprivate mutating func due(_ now: MonotonicTime) -> Settled {
        takeDue(now: now, unixSeconds: 0)
    }
}
