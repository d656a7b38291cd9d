import APNsProtocol
import PipelineCore
import TestSupport
import Testing

@Suite struct TokenMintingTests {
    private static let key = ProviderKeyID(team: "TEAM", key: "KEY")!
    /// The wall clock at second 0, UNIX seconds: the first second in which the token of a slot is in use.
    private static let epoch = TokenMinting.issuedAt(key, unixSeconds: 1_700_000_000) + TokenMinting.backdatingSeconds

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000) }

    /// Asks at a second of the monotonic clock.
    ///
    /// - Parameter wallShift: how far the wall clock was set since second 0.
    private func ask(_ machine: inout TokenMinting, _ second: Int64, wallShift: Int64 = 0) -> TokenMinting.Action {
        machine.token(now: at(second), unixSeconds: Self.epoch + second + wallShift)
    }

    private func minted(_ serial: UInt64, _ second: Int64, wallShift: Int64 = 0) -> TokenMinting.Action {
        let wall = Self.epoch + second + wallShift
        return .mint(serial: serial, issuedAt: TokenMinting.issuedAt(Self.key, unixSeconds: wall))
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
        at now: Int64
    ) -> TokenMinting.Verdict {
        machine.refused(serial: serial, connectionOpenedAt: at(opened), now: at(now))
    }

    // MARK: Dates

    @Test("A token is dated with the start of a slot, 5 to 35 minutes ago")
    func dates() {
        var dates: [Int64] = []
        for second in stride(from: 0, to: 86_400 as Int64, by: 11) {
            let now = Self.epoch + second
            let date = TokenMinting.issuedAt(Self.key, unixSeconds: now)
            #expect((300..<2100).contains(now - date))
            if dates.last != date { dates.append(date) }
        }
        #expect(dates == (0..<48 as Range<Int64>).map { Self.epoch - 300 + $0 * 1800 })
        #expect(TokenMinting.issuedAt(Self.key, unixSeconds: 0) < 0)
    }

    @Test("The dates of a key stay the same, so that versions beside each other have the same tokens")
    func pinned() throws {
        let other = try #require(ProviderKeyID(team: "TEAM", key: "OTHER"))
        #expect(TokenMinting.issuedAt(Self.key, unixSeconds: 1_700_000_000) == 1_699_998_512)
        #expect(TokenMinting.issuedAt(other, unixSeconds: 1_700_000_000) == 1_699_999_183)
    }

    @Test("Not all keys change their tokens at once")
    func spread() throws {
        let minutes = try (0..<100).map { number in
            let key = try #require(ProviderKeyID(team: "TEAM", key: "KEY\(number)"))
            return TokenMinting.issuedAt(key, unixSeconds: Self.epoch) / 60
        }
        #expect(Set(minutes).count > 20)
    }

    @Test(
        "The service takes the tokens of hosts whose clocks are 5 minutes ahead, or 25 behind",
        arguments: [-1500, -3, 0, 3, 300] as [Int64]
    )
    func skewed(skew: Int64) {
        for now in Self.epoch..<Self.epoch + 3600 {
            let date = TokenMinting.issuedAt(Self.key, unixSeconds: now + skew)
            #expect(date <= now && !ProviderTokenAge.isExpired(issuedAt: date, now: now))
        }
    }

    @Test(
        "However often the processes of a fleet start, they use no more than two tokens in any 20 minutes",
        arguments: 0..<50 as Range<UInt64>
    )
    func fleet(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Clocks that differ by less than 10 minutes.
        let skews = (0..<8).map { _ in Int64(random.pick(-299...299)) }
        var processes = skews.map { _ in TokenMinting(key: Self.key) }
        var dates = skews.map { _ in 0 as Int64 }
        var uses: [Int64: (first: Int64, last: Int64)] = [:]
        var second: Int64 = 1000
        while second < 20_000 {
            second += Int64(random.pick(0...20))
            let host = random.pick(0...7)
            if random.chance(30) { processes[host] = TokenMinting(key: Self.key) }
            switch ask(&processes[host], second, wallShift: skews[host]) {
            case .mint(_, let issuedAt): dates[host] = issuedAt
            case .use: break
            case .wait: Issue.record("a token is there at any time")
            }
            uses[dates[host]] = (uses[dates[host]]?.first ?? second, second)
        }
        let inOrder = uses.sorted { $0.key < $1.key }.map(\.value)
        #expect(inOrder.count > 10)
        for (first, third) in zip(inOrder, inOrder.dropFirst(2)) { #expect(third.first - first.last >= 1200) }
    }

    // MARK: Renewal

    @Test("One token serves all connections until its slot ends, then there is a new one")
    func renewal() {
        var machine = started()
        for second in stride(from: 1, to: 1800 as Int64, by: 7) { #expect(ask(&machine, second) == .use(serial: 1)) }
        #expect(ask(&machine, 1800) == minted(2, 1800))
        #expect(ask(&machine, 1801) == .use(serial: 2))
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

    @Test("A clock that was set back past the start of a slot keeps the token, unless that is of the future now")
    func setBack() {
        var machine = started()
        #expect(ask(&machine, 1800) == minted(2, 1800))
        #expect(ask(&machine, 1801, wallShift: -60) == .use(serial: 2))
        #expect(ask(&machine, 1801, wallShift: -7200) == minted(3, 1801, wallShift: -7200))
        #expect(ask(&machine, 1860, wallShift: -7200) == .use(serial: 3))
    }

    @Test(
        "However the clocks go, a process mints no more than two tokens in any 20 minutes",
        arguments: 0..<50 as Range<UInt64>
    )
    func bounded(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = TokenMinting(key: Self.key)
        var mints: [Int64] = []
        var (second, shift, date) = (0 as Int64, 0 as Int64, 0 as Int64)
        for _ in 0..<2000 {
            second += Int64(random.pick(0...300))
            if random.chance(20) { shift += Int64(random.pick(-10_000...10_000)) }
            if random.chance(10) { _ = refuse(&machine, serial: machine.serial, opened: second, at: second) }
            if random.chance(10) { machine.accepted(serial: machine.serial, connectionOpenedAt: at(second)) }
            switch ask(&machine, second, wallShift: shift) {
            case .mint(let serial, let issuedAt):
                mints.append(second)
                date = issuedAt
                #expect(serial == UInt64(mints.count))
            case .use(let serial):
                let isExpired = ProviderTokenAge.isExpired(issuedAt: date, now: Self.epoch + second + shift)
                #expect(serial == UInt64(mints.count) && !isExpired)
            case .wait(let until): #expect(until > at(second))
            }
        }
        for (first, third) in zip(mints, mints.dropFirst(2)) { #expect(third - first >= 1200) }
    }

    @Test("A token that is too old is not used while no new one may be minted")
    func runOut() {
        var machine = started()
        #expect(ask(&machine, 60, wallShift: 4000) == minted(2, 60, wallShift: 4000))
        // The clock jumps again.
        #expect(ask(&machine, 120, wallShift: 6000) == .use(serial: 2))
        #expect(ask(&machine, 120, wallShift: 8000) == .wait(until: at(1200)))
        #expect(ask(&machine, 1200, wallShift: 8000) == minted(3, 1200, wallShift: 8000))
    }

    // MARK: Refusals

    @Test("A refused token is tried once more over a new connection, and replaced only when its slot ends")
    func refused() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 1500) == .retry)
        #expect(ask(&machine, 1501) == .use(serial: 1))
        #expect(refuse(&machine, serial: 1, opened: 1502, at: 1503) == .teamDoesNotWork)
        #expect(refuse(&machine, serial: 1, opened: 1600, at: 1601) == .teamDoesNotWork)
        #expect(ask(&machine, 1799) == .use(serial: 1))
        #expect(ask(&machine, 1800) == minted(2, 1800))
        machine.accepted(serial: 2, connectionOpenedAt: at(1801))
        #expect(refuse(&machine, serial: 2, opened: 1801, at: 1900) == .retry)
    }

    @Test("Many answers of one old connection are one piece of news")
    func staleNews() {
        var machine = started()
        for second in 1500..<1600 as Range<Int64> {
            #expect(refuse(&machine, serial: 1, opened: 10, at: second) == .retry)
        }
        #expect(ask(&machine, 1800) == minted(2, 1800))
        // Requests that were on their way when the slot ended.
        #expect(refuse(&machine, serial: 1, opened: 1790, at: 1801) == .retry)
        #expect(ask(&machine, 1802) == .use(serial: 2))
    }

    @Test("An acceptance over a newer connection ends the trial; one over an older does not")
    func acquitted() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 300) == .retry)
        machine.accepted(serial: 1, connectionOpenedAt: at(0))
        #expect(refuse(&machine, serial: 1, opened: 301, at: 302) == .teamDoesNotWork)
        machine.accepted(serial: 1, connectionOpenedAt: at(310))
        #expect(refuse(&machine, serial: 1, opened: 310, at: 400) == .retry)
    }

    @Test("A connection opened in the moment of the first refusal is a newer one: its answers are news")
    func sameMoment() {
        var machine = started()
        #expect(refuse(&machine, serial: 1, opened: 0, at: 300) == .retry)
        #expect(refuse(&machine, serial: 1, opened: 300, at: 301) == .teamDoesNotWork)
        machine.accepted(serial: 1, connectionOpenedAt: at(300))
        #expect(refuse(&machine, serial: 1, opened: 400, at: 401) == .retry)
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
        let date = TokenMinting.issuedAt(other, unixSeconds: Self.epoch + 13)
        #expect(ask(&machine, 13) == .mint(serial: 2, issuedAt: date))
        #expect(refuse(&machine, serial: 1, opened: 14, at: 15) == .retry)
        #expect(refuse(&machine, serial: 2, opened: 14, at: 16) == .retry)
        #expect(ask(&machine, 17) == .use(serial: 2))
    }
}
