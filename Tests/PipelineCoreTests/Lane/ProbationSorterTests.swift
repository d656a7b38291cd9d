import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

@Suite struct ProbationSorterTests {
    @Test("After any moves each notification has one outcome, and no token overtakes itself", arguments: trials(400))
    func order(seed: UInt64) {
        var options = ProbationWorld.Options()
        options.fails = seed % 3 == 2
        options.hurries = seed % 4 == 3
        options.tokens = seed % 5 == 4 ? 400 : 40
        let world = ProbationWorld(seed: seed, options: options)
        world.run()
        world.checkOrder()
    }

    @Test("The property is not proven by default: in most worlds many are moved")
    func moves() {
        let moved = (UInt64(0)..<50).count { seed in
            let world = ProbationWorld(seed: seed, options: .init())
            world.run()
            return world.moved > 20
        }
        #expect(moved > 25)
    }

    @Test("New tokens go on probation; accepted ones do not, but for one ahead of them and one behind each")
    func newcomers() {
        var pair = Pair()
        for token in UInt32(0)..<8 { pair.accepted.insert(checksum: token) }
        pair.publish([0, 1, 90, 2, 3, 4, 5, 6, 7])
        #expect(pair.sort() == 3)
        #expect(pair.sent() == [1, 3, 4, 5, 6, 7])
        #expect(pair.onProbation() == [0, 90, 2])
    }

    @Test("Few may wait on probation, be all tokens new; the others go over their lane")
    func cold() {
        var pair = Pair()
        pair.publish((0..<1000).map { 5000 + $0 })
        #expect(pair.sort() == Pair.places)
        #expect(pair.sent().count == 1000 - Pair.places)
    }

    @Test("Few may wait, for a witness waits as long as they do")
    func fewWait() {
        var pair = Pair()
        let most = UInt32(Pair.places)
        for token in UInt32(0)..<1000 { pair.accepted.insert(checksum: token) }
        // Two known ones for each newcomer.
        for number in 0..<most { pair.publish([5000 + number, 2 * number, 2 * number + 1]) }
        #expect(pair.sort() == Int(most))
        var expected: [UInt32] = []
        for number in 0..<most / 2 { expected += [5000 + number, 2 * number] }
        #expect(pair.onProbation() == expected)
        #expect(pair.sent().count == 2 * Int(most))
        pair.settleProbation()
        pair.publish([6000])
        #expect(pair.sort() == 1)
    }

    @Test("Notifications that follow their own take no place from newcomers: each of these would cost its lane all")
    func followersWait() {
        var pair = Pair()
        let newcomers = UInt32(Pair.places) - 1
        pair.publish(Array(repeating: 5000, count: 100))
        #expect(pair.sort() == 100)
        pair.publish((1...newcomers).map { 5000 + $0 } + [6000])
        #expect(pair.sort() == Int(newcomers))
        #expect(pair.sent() == [6000])
        pair.settleProbation()
        pair.publish([7000])
        #expect(pair.sort() == 1)
    }

    @Test("However many are refused on probation, all that waits there is sent at once")
    func wideWindow() {
        var pair = Pair()
        let last = UInt32(Pair.places) - 1
        pair.publish((0...last).map { 5000 + $0 } + Array(repeating: 5000 + last, count: 500))
        #expect(pair.sort() == Pair.places + 500)
        for refused in 0..<last {
            #expect(pair.sendProbation() == Pair.places + 500 - Int(refused))
            pair.answerProbation(.invalidToken, identifier: refused + 1)
        }
        #expect(pair.sendProbation() == 501)
    }

    @Test(
        "The slower the gateway answers, the fewer may wait: the last is sent after a second",
        arguments: [
            (0, 64), (20, 64), (50, 40), (200, 10), (1000, 4),
        ]
    )
    func places(answerMilliseconds: Int, places: Int) {
        #expect(ProbationSorter.places(quietDelay: .milliseconds(2 * answerMilliseconds)) == places)
    }

    @Test("A lane whose only notification went on probation has nothing unsettled, before it sends anything")
    func leftEmpty() {
        var pair = Pair()
        pair.publish([90])
        #expect(pair.sort() == 1)
        let isDrained = pair.lane.isDrained
        #expect(isDrained)
    }

    @Test("The outcome of one notification on probation frees its own place, not that of the next in line as well")
    func onePlace() {
        var pair = Pair()
        pair.publish((0..<UInt32(Pair.places)).map { 5000 + $0 })
        #expect(pair.sort() == Pair.places)
        #expect(pair.sendProbation() == Pair.places)
        pair.answerProbation(.invalidToken, identifier: 1)
        pair.probation.evictSettled(now: pair.now)
        pair.publish([6000, 7000])
        #expect(pair.sort() == 1)
        #expect(pair.sent() == [7000])
    }

    @Test("No witness is sent apart while nothing goes on probation")
    func noWitness() {
        var pair = Pair()
        pair.accepted.insert(checksum: 1)
        pair.publish([1])
        #expect(pair.sort(isOn: false) == 0)
        #expect(pair.sent() == [1])
    }

    @Test("A token on probation stays there until nothing of it is unsettled, even if it was accepted before")
    func follows() {
        var pair = Pair()
        pair.publish([90, 90])
        #expect(pair.sort() == 2)
        pair.accepted.insert(checksum: 90)
        pair.publish([90])
        #expect(pair.sort(isOn: false) == 1)
        #expect(pair.onProbation() == [90, 90, 90])
        pair.settleProbation()
        pair.accepted.insert(checksum: 1)
        pair.publish([1])
        #expect(pair.sort() == 1, "the witness")
        pair.publish([90])
        #expect(pair.sort() == 0)
        #expect(pair.sent() == [90])
    }

    @Test("A newcomer that its lane has sent, and that is not settled, stays in its lane")
    func unsettled() {
        var pair = Pair()
        pair.publish([90])
        #expect(pair.sort(isOn: false) == 0)
        #expect(pair.sent() == [90])
        pair.publish([90])
        #expect(pair.sort() == 0)
        #expect(pair.sent() == [90])
    }

    @Test("Notifications sent before the sorting began count as unsettled too")
    func before() {
        var pair = Pair(isSorted: false)
        pair.publish([90])
        #expect(pair.sent() == [90])
        pair.begin()
        pair.publish([90, 91])
        #expect(pair.sort() == 1)
        #expect(pair.sent() == [90])
    }

    @Test("Notifications that are to be sent again are sorted again, and move now that none of them is out")
    func again() {
        var pair = Pair()
        pair.publish([90])
        #expect(pair.sort(isOn: false) == 0)
        #expect(pair.sent() == [90])
        pair.reconnect()
        #expect(pair.sort() == 1)
        #expect(pair.sent().isEmpty)
        #expect(pair.onProbation() == [90])
    }

    @Test("A notification that has met an error, which its lane counts, stays in its lane")
    func counted() {
        var pair = Pair()
        pair.publish([90])
        #expect(pair.sort(isOn: false) == 0)
        #expect(pair.sent() == [90])
        pair.answer(.processingError, identifier: 1)
        #expect(pair.sort() == 0)
        #expect(pair.sent() == [90])
    }

    @Test("Sorting ends when nothing is on probation and no late answer can come, and the second connection with it")
    func end() {
        var pair = Pair(retainedBytes: 1 << 20)
        pair.publish([90])
        #expect(pair.sort() == 1)
        let endsWaiting = pair.end()
        pair.settleProbation()
        let endsPresumed = pair.end()
        let isRetired = pair.probation.isRetired
        #expect(!endsWaiting && !endsPresumed && isRetired)
        _ = pair.probation.end(.retired, now: pair.now, random: 0)
        let ends = pair.end()
        pair.publish([91])
        #expect(ends)
        #expect(pair.sent() == [91])
    }

    @Test("Nothing that is not sorted is sent")
    func waits() {
        var pair = Pair()
        pair.publish([1, 2])
        #expect(pair.sent().isEmpty)
    }

    /// Newcomers that find no place on probation go over the lane: it may be refused again and again.
    @Test("A refusal makes a lane's window smaller, be the tokens behind it known or new", arguments: [true, false])
    func window(areKnown: Bool) {
        var pair = Pair()
        let tokens = (0..<1000).map { 5000 + UInt32($0) }
        if areKnown { for token in tokens { pair.accepted.insert(checksum: token) } }
        pair.publish(tokens)
        let witnesses = areKnown ? 1 : 0
        #expect(pair.sort(isOn: areKnown) == witnesses)
        #expect(pair.sent().count == 1000 - witnesses)
        pair.publish([4000, 4001, 4002])
        _ = pair.sort()
        pair.answer(.invalidToken, identifier: 100)
        let smaller = pair.lane.window.size
        #expect(smaller < 1000)
        _ = pair.sort()
        let size = pair.lane.window.size
        #expect(size == smaller)
    }
}

/// A sorted lane with its connection, and its probation lane with none, by hand.
private struct Pair: ~Copyable {
    /// On probation, as no answer has come yet.
    static let places = ProbationSorter.places(quietDelay: LaneLimits().confirmationWindow)

    var lane: LaneStateMachine
    var probation: LaneStateMachine
    var sorter: ProbationSorter?
    var accepted = AcceptedTokens(indexBits: 8)
    var now = MonotonicTime(nanoseconds: 1_000_000_000)

    init(isSorted: Bool = true, window: Int = 10_000, retainedBytes: Int = 0) {
        lane = LaneStateMachine(limits: LaneLimits(inFlight: 10_000, retainedBytes: 0))
        probation = LaneStateMachine(limits: LaneLimits(inFlight: window, retainedBytes: retainedBytes))
        lane.connecting()
        lane.opened(now: now, random: 0)
        if isSorted { begin() }
    }

    mutating func begin() { sorter = ProbationSorter(&lane) }

    mutating func publish(_ tokens: [UInt32]) {
        let bytes = NotificationFrame.command2Bytes(tokenBytes: 4, payloadBytes: 0)
        for token in tokens {
            let identifier = lane.nextIdentifier
            let room = lane.reserve(bytes)
            _ = withUnsafeBytes(of: token) {
                NotificationFrame.encodeCommand2(
                    identifier: identifier,
                    token: $0,
                    payload: .init(start: nil, count: 0),
                    expiration: 0,
                    priority: .immediate,
                    into: room
                )
            }
            lane.commit(.init(assignment: 0, record: 0, token: token), bytes: bytes, checksum: token)
        }
    }

    mutating func sort(isOn: Bool = true) -> Int {
        sorter?.sort(&lane, probation: &probation, isOn: isOn, accepted: accepted) ?? 0
    }

    /// Ends the sorting if it can be ended.
    mutating func end() -> Bool {
        guard sorter?.end(&lane, probation: &probation, now: now) == true else { return false }
        sorter = nil
        return true
    }

    /// Tokens that the lane hands over now.
    mutating func sent() -> [UInt32] {
        let start = lane.sentEnd
        while lane.nextRun() != nil {}
        return (start..<lane.sentEnd).map { lane.log.entry(at: $0) }.filter { !$0.isDropped }.map(\.checksum)
    }

    /// Tokens on probation that are not settled. The identifiers must be those of its own line.
    func onProbation() -> [UInt32] {
        (probation.settledEnd..<probation.log.tail).map { sequence in
            let frame = probation.log.frame(at: sequence)
            let identifier = frame.loadUnaligned(fromByteOffset: 8, as: UInt32.self).byteSwapped
            #expect(identifier == FrameLog.identifier(of: sequence))
            return probation.log.entry(at: sequence).checksum
        }
    }

    mutating func settleProbation() {
        probation.connecting()
        probation.opened(now: now, random: 0)
        while probation.nextRun() != nil {}
        probation.flushed(upTo: probation.sentEnd, now: now)
        _ = probation.presume(now: now + .seconds(3600))
        probation.evictSettled(now: now)
    }

    /// Notifications that are out over a new connection on probation.
    mutating func sendProbation() -> Int {
        probation.connecting()
        probation.opened(now: now, random: 0)
        while probation.nextRun() != nil {}
        return probation.inFlightCount
    }

    mutating func answerProbation(_ status: APNsStatus, identifier: UInt32) {
        _ = probation.answered(.init(status: status, identifier: identifier), now: now, random: 0)
    }

    /// The connection is lost; another is opened.
    mutating func reconnect() {
        _ = lane.ended(.closedHere, now: now, random: 0)
        reopen()
    }

    /// The gateway answers on the lane's connection; another is opened.
    mutating func answer(_ status: APNsStatus, identifier: UInt32) {
        _ = lane.answered(.init(status: status, identifier: identifier), now: now, random: 0)
        reopen()
    }

    private mutating func reopen() {
        lane.evictSettled(now: now)
        lane.connecting()
        lane.opened(now: now, random: 0)
    }
}
