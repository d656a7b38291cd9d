import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

/// A lane and its probation lane, each with a connection to a gateway of its own pace; seeded.
///
/// The model gateway refuses bad tokens and discards what follows one; the model shard does with verdicts what the real
/// one does. Nothing is answered later than the window of silence, so nothing may be accepted twice unless a connection
/// failed.
final class ProbationWorld {
    struct Options {
        var tokens: UInt32 = 40
        /// Tokens below this number are bad.
        var bad: UInt32 = 5
        var notifications: UInt32 = 600
        /// Connections fail now and then.
        var fails = false
        /// The lane sends as fast as it can, so that most has left before the first answer.
        var hurries = false
    }

    /// One end of a lane's connection.
    struct Connection {
        /// Taken by the gateway and not looked at: identifier, token, ordinal.
        var queue: [(identifier: UInt32, token: UInt32, ordinal: UInt32)] = []
        var answer: ErrorResponse?
    }

    private static let window = Duration.seconds(1)

    let options: Options
    var random: SeededGenerator
    var lane: LaneStateMachine
    var probation: LaneStateMachine
    var connections: [Connection?] = [nil, nil]
    var sorter: ProbationSorter?
    var accepted = AcceptedTokens(indexBits: 4)
    var isOn = false
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private(set) var published: UInt32 = 0
    /// Tokens by ordinal.
    private var tokens: [UInt32] = []
    private(set) var settled: [UInt32: Int] = [:]
    /// By token, in the order of acceptance.
    private(set) var taken: [UInt32: [UInt32]] = [:]
    private(set) var moved = 0

    init(seed: UInt64, options: Options) {
        random = SeededGenerator(seed: seed)
        self.options = options
        let limits = LaneLimits(
            confirmationWindow: Self.window,
            inFlight: options.hurries ? 10_000 : 50,
            retainedBytes: seed % 2 == 0 ? 0 : 1 << 20
        )
        lane = LaneStateMachine(limits: limits)
        probation = LaneStateMachine(limits: limits)
    }

    func run() {
        while published < options.notifications || !lane.isDrained || !probation.isDrained {
            step()
            // Everything on its way comes to its end.
            if published == options.notifications { pass(.milliseconds(40)) }
        }
        for ordinal in 0..<published { #expect(settled[ordinal] == 1, "\(ordinal) has not one outcome") }
    }

    /// Per token: what was accepted follows what was accepted before, or repeats it from some point on.
    func checkOrder() {
        for (token, ordinals) in taken {
            let line = (0..<published).filter { tokens[Int($0)] == token }
            var place = -1
            for ordinal in ordinals {
                let next = line.firstIndex(of: ordinal) ?? -1
                #expect(next == place + 1 || options.fails && next <= place, "token \(token): \(ordinals) of \(line)")
                place = next
            }
        }
    }

    private func step() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<3: publishSome()
        case 3, 4: pump(0)
        case 5, 6: pump(1)
        case 7, 8: read(Int.random(in: 0...1, using: &random), Int.random(in: 1...20, using: &random))
        case 9: answer(Int.random(in: 0...1, using: &random))
        case 10: pass(.milliseconds(Int.random(in: 1...60, using: &random)))
        default: turn()
        }
    }

    private func publishSome() {
        for _ in 0..<Int.random(in: 1...15, using: &random) where published < options.notifications {
            let token = UInt32.random(in: 0..<options.tokens, using: &random)
            let bytes = NotificationFrame.command2Bytes(tokenBytes: 4, payloadBytes: 4)
            let identifier = lane.nextIdentifier
            let room = lane.reserve(bytes)
            withUnsafeBytes(of: token) { tokenBytes in
                withUnsafeBytes(of: published) { ordinal in
                    _ = NotificationFrame.encodeCommand2(
                        identifier: identifier,
                        token: tokenBytes,
                        payload: ordinal,
                        expiration: 0,
                        priority: .immediate,
                        into: room
                    )
                }
            }
            lane.commit(.init(assignment: 0, record: 0, token: published), bytes: bytes, checksum: token &* 7919)
            tokens.append(token)
            published += 1
        }
    }

    /// Rare: probation begins, ends, a connection fails or retires.
    private func turn() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            isOn = true
            if sorter == nil { sorter = ProbationSorter(&lane) }
        case 3:
            isOn = false
        case 4:
            guard sorter?.isOver(probation) == true, !isOn else { return }
            sorter = nil
            lane.endSorting()
        case 5 where options.fails:
            let index = Int.random(in: 0...1, using: &random)
            guard connections[index] != nil else { return }
            read(index, Int.random(in: 0...20, using: &random))
            end(index)
        default:
            return
        }
    }

    // MARK: The shard's side

    private func pump(_ index: Int) {
        if connections[index] == nil {
            change(index) { lane, now in
                guard lane.wantsConnection(now: now) else { return false }
                lane.connecting()
                lane.opened(now: now, random: 0)
                return true
            }
        }
        guard connections[index] != nil else { return }
        if index == 0 {
            moved += sorter?.sort(&lane, probation: &probation, isOn: isOn, accepted: accepted) ?? 0
        }
        var bytes: [UInt8] = []
        if index == 0 { Self.send(&lane, &bytes, now) } else { Self.send(&probation, &bytes, now) }
        connections[index]?.queue += Self.frames(bytes)
    }

    private func change(_ index: Int, _ body: (inout LaneStateMachine, MonotonicTime) -> Bool) {
        let hasOpened = index == 0 ? body(&lane, now) : body(&probation, now)
        if hasOpened { connections[index] = Connection() }
    }

    private static func send(_ lane: inout LaneStateMachine, _ bytes: inout [UInt8], _ now: MonotonicTime) {
        while let run = lane.nextRun() { bytes += run }
        lane.flushed(upTo: lane.sentEnd, now: now)
    }

    private static func frames(_ bytes: [UInt8]) -> [(identifier: UInt32, token: UInt32, ordinal: UInt32)] {
        let length = NotificationFrame.command2Bytes(tokenBytes: 4, payloadBytes: 4)
        #expect(bytes.count.isMultiple(of: length))
        return stride(from: 0, to: bytes.count, by: length).map { start in
            bytes.withUnsafeBytes { all in
                func number(_ at: Int) -> UInt32 { all.loadUnaligned(fromByteOffset: start + at, as: UInt32.self) }
                return (number(8).byteSwapped, number(15), number(22))
            }
        }
    }

    private func end(_ index: Int) {
        connections[index] = nil
        let verdict =
            index == 0
            ? lane.ended(.failed, now: now, random: 0) : probation.ended(.failed, now: now, random: 0)
        settle(verdict, index)
    }

    private func answer(_ index: Int) {
        guard let response = connections[index]?.answer else { return }
        connections[index] = nil
        let verdict =
            index == 0
            ? lane.answered(response, now: now, random: 0) : probation.answered(response, now: now, random: 0)
        settle(verdict, index)
    }

    private func pass(_ time: Duration) {
        now = now + time
        for index in 0...1 {
            let due = index == 0 ? lane.presumesAt : probation.presumesAt
            if index == 0 { lane.passQuietNotifications(now: now) } else { probation.passQuietNotifications(now: now) }
            guard let due, due <= now else { continue }
            // The gateway answers within the window.
            read(index, .max)
            if connections[index]?.answer != nil {
                answer(index)
            } else {
                settle(index == 0 ? lane.presume(now: now) : probation.presume(now: now), index)
            }
        }
    }

    private func settle(_ verdict: LaneVerdict, _ index: Int) {
        for range in [verdict.confirmed, verdict.presumed] {
            if index == 0 { accepted.insert(range, of: lane.log) } else { accepted.insert(range, of: probation.log) }
            for sequence in range {
                note(index == 0 ? lane.log.entry(at: sequence) : probation.log.entry(at: sequence))
            }
        }
        if let refused = verdict.refused?.sequence {
            let entry = index == 0 ? lane.log.entry(at: refused) : probation.log.entry(at: refused)
            note(entry)
            accepted.remove(checksum: entry.checksum)
            let silenced = [
                lane.discard(checksum: entry.checksum) { _ in true }.map(\.token),
                probation.discard(checksum: entry.checksum) { _ in true }.map(\.token),
            ]
            for ordinal in silenced.joined() { settled[ordinal, default: 0] += 1 }
        }
        if random.chance(80) { lane.evictSettled(now: now) }
        if random.chance(80) { probation.evictSettled(now: now) }
    }

    private func note(_ entry: FrameLog.Entry) {
        if !entry.isDropped { settled[entry.reference.token, default: 0] += 1 }
    }

    // MARK: The gateway's side

    private func read(_ index: Int, _ count: Int) {
        guard connections[index] != nil, connections[index]?.answer == nil else { return }
        for _ in 0..<min(count, connections[index]?.queue.count ?? 0) {
            guard let frame = connections[index]?.queue.removeFirst() else { return }
            if frame.token < options.bad {
                connections[index]?.answer = ErrorResponse(status: .invalidToken, identifier: frame.identifier)
                return
            }
            taken[frame.token, default: []].append(frame.ordinal)
        }
    }
}
