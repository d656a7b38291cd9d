import APNsProtocol
import PipelineCore
import TestSupport
import Testing

@Suite struct TokenMintingTests {
    private static let key = ProviderKeyID(team: "TEAM", key: "KEY")!
    /// The wall clock at second 0, UNIX seconds.
    private static let epoch: Int64 = 1_700_000_000

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

    /// Asks at a second of the monotonic clock.
    ///
    /// - Parameter wallShift: how far the wall clock was set since second 0.
    private func ask(_ machine: inout TokenMinting, _ second: Int64, wallShift: Int64 = 0) -> TokenMinting.Action {
        machine.token(now: at(second), unixSeconds: Self.epoch + second + wallShift)
    }

    private func minted(_ serial: UInt64, _ second: Int64, wallShift: Int64 = 0) -> TokenMinting.Action {
        let wall = Self.epoch + second + wallShift
        return .mint(serial: serial, issuedAt: wall - TokenMinting.backdatingSeconds)
    }

    private func started() -> TokenMinting {
        var machine = TokenMinting(key: Self.key)
        #expect(ask(&machine, 0) == minted(1, 0))
        return machine
    }

    private func refuse(
        _ machine: inout TokenMinting,
        serial: UInt64,
        opened: Int64,
        at now: Int64,
        _ refusal: TokenMinting.Refusal = .expired
    ) -> TokenMinting.Verdict {
        machine.refused(refusal, serial: serial, connectionOpenedAt: at(opened), now: at(now))
    }

    // MARK: Renewal

    @Test("One token serves all connections for 50 minutes, then there is a new one")
    func renewal() {
        var machine = started()
        for second in stride(from: 1, to: 3000 as Int64, by: 7) { #expect(ask(&machine, second) == .use(serial: 1)) }
        #expect(ask(&machine, 3000) == minted(2, 3000))
        #expect(ask(&machine, 3001) == .use(serial: 2))
    }

    @Test("A token is dated back a little, and is still younger than an hour when it is replaced")
    func backdating() {
        #expect(TokenMinting.renewal + .seconds(TokenMinting.backdatingSeconds) < TokenMinting.life)
        #expect(ProviderTokenAge.limitSeconds == TokenMinting.life.components.seconds)
        #expect(ProviderTokenAge.updateIntervalSeconds == TokenMinting.interval.components.seconds)
    }

    @Test("A token that could not be signed is asked for again")
    func failed() {
        var machine = started()
        machine.mintingFailed()
        #expect(ask(&machine, 5) == minted(2, 5))
        #expect(ask(&machine, 6) == .use(serial: 2))
    }

    // MARK: Clocks

    @Test("A machine that slept has a new token before the old one is used")
    func slept() {
        var machine = started()
        #expect(ask(&machine, 60, wallShift: 3 * 3600) == minted(2, 60, wallShift: 3 * 3600))
    }

    @Test("A clock that was set back gets a new token, for the old one is dated in the future")
    func setBack() {
        var machine = started()
        #expect(ask(&machine, 60, wallShift: -60) == .use(serial: 1))
        #expect(ask(&machine, 60, wallShift: -7200) == minted(2, 60, wallShift: -7200))
        #expect(ask(&machine, 120, wallShift: -7200) == .use(serial: 2))
    }

    @Test(
        "However the clocks go, no more than two tokens are minted in any 20 minutes",
        arguments: 0..<50 as Range<UInt64>
    )
    func bounded(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = TokenMinting(key: Self.key)
        var mints: [Int64] = []
        var second: Int64 = 0
        var shift: Int64 = 0
        for _ in 0..<2000 {
            second += Int64(random.pick(0...300))
            if random.chance(20) { shift += Int64(random.pick(-10_000...10_000)) }
            if random.chance(10) { _ = refuse(&machine, serial: machine.serial, opened: second, at: second) }
            if random.chance(5) { machine.complainedOfUpdates(serial: machine.serial) }
            if random.chance(10) { machine.accepted(serial: machine.serial, connectionOpenedAt: at(second)) }
            switch ask(&machine, second, wallShift: shift) {
            case .mint(let serial, _):
                #expect(serial == UInt64(mints.count + 1))
                mints.append(second)
            case .use(let serial): #expect(serial == UInt64(mints.count))
            case .wait(let until): #expect(until > at(second))
            }
        }
        for (first, third) in zip(mints, mints.dropFirst(2)) { #expect(third - first >= 1200) }
    }

    // MARK: Refusals

    @Test("An old token that is called expired is replaced once; the new one refused as well stops the team")
    func expired() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 1500) == .retry)
        #expect(ask(&machine, 1501) == minted(2, 1501))
        #expect(refuse(&machine, serial: 2, opened: 1502, at: 1503) == .teamDoesNotWork)
        #expect(refuse(&machine, serial: 2, opened: 1600, at: 1601) == .teamDoesNotWork)
    }

    @Test("A young token that is called expired is tried once more over a new connection, not replaced")
    func youngExpired() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 300) == .retry)
        #expect(ask(&machine, 301) == .use(serial: 1))
        #expect(refuse(&machine, serial: 1, opened: 301, at: 302) == .teamDoesNotWork)
        // Replaced as soon as the service takes a new one.
        #expect(ask(&machine, 1199) == .use(serial: 1))
        #expect(ask(&machine, 1200) == minted(2, 1200))
    }

    @Test("Many answers of one old connection are one piece of news")
    func staleNews() {
        var machine = started()
        for second in 1500..<1600 as Range<Int64> {
            #expect(refuse(&machine, serial: 1, opened: 10, at: second) == .retry)
        }
        #expect(ask(&machine, 1600) == minted(2, 1600))
        #expect(refuse(&machine, serial: 1, opened: 10, at: 1601) == .retry)
        #expect(ask(&machine, 1602) == .use(serial: 2))
    }

    @Test("An acceptance over a newer connection ends the trial; one over an older does not")
    func acquitted() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 300) == .retry)
        machine.accepted(serial: 1, connectionOpenedAt: at(0))
        #expect(refuse(&machine, serial: 1, opened: 301, at: 302) == .teamDoesNotWork)
        machine.accepted(serial: 1, connectionOpenedAt: at(310))
        #expect(refuse(&machine, serial: 1, opened: 310, at: 400) == .retry)
        machine.accepted(serial: 1, connectionOpenedAt: at(401))
        #expect(ask(&machine, 1200) == .use(serial: 1))
    }

    @Test("An unrelated key gets one more connection, and never a new token")
    func unrelated() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 1500, .unrelatedKey) == .retry)
        #expect(ask(&machine, 1501) == .use(serial: 1))
        #expect(refuse(&machine, serial: 1, opened: 1502, at: 1503, .unrelatedKey) == .teamDoesNotWork)
        #expect(ask(&machine, 1504) == .use(serial: 1))
    }

    // MARK: Too many updates

    @Test("A complaint of too many tokens keeps this one, and doubles the time to the next, once a token")
    func complaints() {
        var machine = started()
        for _ in 0..<100 { machine.complainedOfUpdates(serial: 1) }
        #expect(refuse(&machine, serial: 1, opened: 0, at: 1500) == .retry)
        #expect(ask(&machine, 2399) == .use(serial: 1))
        #expect(ask(&machine, 2400) == minted(2, 2400))
        machine.complainedOfUpdates(serial: 2)
        #expect(ask(&machine, 2400 + 3299) == .use(serial: 2))
        #expect(ask(&machine, 2400 + 3300) == minted(3, 2400 + 3300))
    }

    @Test("A new token that is accepted ends the complaint")
    func complaintEnds() {
        var machine = started()
        machine.complainedOfUpdates(serial: 1)
        machine.accepted(serial: 1, connectionOpenedAt: at(0))
        #expect(ask(&machine, 3000) == minted(2, 3000))
        machine.accepted(serial: 2, connectionOpenedAt: at(0))
        #expect(refuse(&machine, serial: 2, opened: 0, at: 3001) == .retry)
        #expect(ask(&machine, 4199) == .use(serial: 2))
        #expect(ask(&machine, 4200) == minted(3, 4200))
    }

    @Test("A token that is too old is not used while no new one may be minted")
    func runOut() {
        var machine = started()
        #expect(ask(&machine, 60, wallShift: 4000) == minted(2, 60, wallShift: 4000))
        // The clock jumps again: the exemption is used up.
        #expect(ask(&machine, 120, wallShift: 8000) == .wait(until: at(60 + 1200)))
        #expect(ask(&machine, 1260, wallShift: 8000) == minted(3, 1260, wallShift: 8000))
    }

    // MARK: Keys

    @Test("Another key has its token at once; news of the former key's tokens does not count")
    func exchange() throws {
        var machine = started()
        let other = try #require(ProviderKeyID(team: "TEAM", key: "OTHER"))
        #expect(refuse(&machine, serial: 1, opened: 0, at: 10) == .retry)
        machine.exchangeKey(other)
        #expect(machine.key == other)
        #expect(refuse(&machine, serial: 1, opened: 11, at: 12) == .retry)
        #expect(ask(&machine, 13) == minted(2, 13))
        #expect(refuse(&machine, serial: 1, opened: 14, at: 15) == .retry)
        #expect(refuse(&machine, serial: 2, opened: 14, at: 16) == .retry)
        #expect(ask(&machine, 17) == .use(serial: 2))
    }
}
