import TestSupport
import Testing

@testable import PipelineCore

/// The machine against a model that keeps everything and looks at it once, when a group is closed.
@Suite struct CoalescerPropertyTests {
    private let backlog = Coalescer.Gate.backlog(assignment: 0)

    @Test("In every order of a group's requests, the newest that has not expired is sent, and no other")
    func permutations() {
        for seed in 0..<60 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let requests = (1...5).map { ticket in
                Coalescer.Request(
                    ticket: UInt64(ticket),
                    stamp: .init(milliseconds: Int64(generator.pick(1...4)), offset: Int64(ticket), token: 0),
                    expiration: [0, 5, 6, 7].randomElement(using: &generator) ?? 0
                )
            }
            let living = requests.filter { $0.expiration == 0 || $0.expiration >= 6 }
            let newest = living.max { $0.stamp < $1.stamp }
            for order in orders(of: requests) {
                var coalescer = Coalescer(patience: .seconds(5))
                var superseded: [UInt64] = []
                for request in order {
                    let arrival = coalescer.arrive(
                        request,
                        of: subject(0),
                        now: .init(nanoseconds: 0),
                        window: .none,
                        waits: [.init(backlog, until: 1)]
                    )
                    if case .joins(let losers) = arrival { superseded += losers }
                }
                coalescer.passed(backlog, upTo: 1)
                let settled = coalescer.takeDue(now: .init(nanoseconds: 0), unixSeconds: 6)
                #expect(settled.due.map(\.ticket) == (newest.map { [$0.ticket] } ?? []), "\(seed)")
                let all = settled.due.map(\.ticket) + settled.superseded + settled.expired + superseded
                #expect(all.sorted() == [1, 2, 3, 4, 5], "\(seed)")
            }
        }
    }

    @Test(
        "With events in any order, each request gets one answer, and of each group the model's one is sent",
        arguments: 0..<40
    )
    func anything(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var world = CoalescerWorld()
        for _ in 0..<3000 { world.step(&generator) }
        world.end()
        #expect(world.problems.isEmpty, "\(world.problems.prefix(3))")
        #expect(world.answers.count == world.requests.count)
        #expect(world.coalescer.isEmpty && world.coalescer.gates.isEmpty)
    }

    private func orders(of requests: [Coalescer.Request]) -> [[Coalescer.Request]] {
        guard requests.count > 1 else { return [requests] }
        return requests.indices.flatMap { index in
            var rest = requests
            let first = rest.remove(at: index)
            return orders(of: rest).map { [first] + $0 }
        }
    }
}

private func subject(_ number: UInt64) -> Coalescer.Subject {
    let fingerprint = [number].withUnsafeBytes { RequestFingerprint(token: $0, key: SipHash(low: 0, high: 0)) }
    return .init(topic: 0, fingerprint: fingerprint)
}

private struct CoalescerWorld {
    enum Answer: Equatable { case sent, superseded, expired, passed, forgotten }

    var coalescer = Coalescer(patience: .milliseconds(40))
    var requests: [UInt64: (request: Coalescer.Request, subject: UInt64, assignment: UInt32)] = [:]
    var answers: [UInt64: Answer] = [:]
    var problems: [String] = []
    /// Everything that came to a group that is open, by subject.
    private var open: [UInt64: [UInt64]] = [:]
    private var asked: [UInt64] = []
    private var positions: [Coalescer.Gate: UInt64] = [:]
    private var now = MonotonicTime(nanoseconds: 0)
    private var unixSeconds: Int64 = 100
    private var tickets: UInt64 = 0

    private static let gates: [Coalescer.Gate] =
        [.backlog(assignment: 0), .backlog(assignment: 1), .lane(topic: 0, number: 0), .lane(topic: 0, number: 1)]

    mutating func step(_ generator: inout SeededGenerator) {
        switch generator.pick(0...19) {
        case 0...11: arrive(&generator)
        case 12...14:
            let gate = Self.gates.randomElement(using: &generator) ?? Self.gates[0]
            positions[gate, default: 0] += UInt64(generator.pick(0...4))
            coalescer.passed(gate, upTo: positions[gate] ?? 0)
        case 15:
            if let group = asked.popLast() {
                coalescer.windowEnds(group, at: now + .milliseconds(generator.pick(0...30)))
            }
        case 16:
            now = now + .milliseconds(generator.pick(1...20))
            if generator.chance(10) { unixSeconds += 1 }
        case 17 where generator.chance(10): forget(assignment: UInt32(generator.pick(0...1)))
        default: settle()
        }
    }

    /// Everything is let go.
    mutating func end() {
        for group in asked { coalescer.windowEnds(group, at: now) }
        for gate in Self.gates { coalescer.passed(gate, upTo: .max) }
        now = now + .seconds(1)
        settle()
    }

    private mutating func arrive(_ generator: inout SeededGenerator) {
        tickets += 1
        let number = UInt64(generator.pick(0...5))
        let request = Coalescer.Request(
            ticket: tickets,
            stamp: .init(milliseconds: Int64(generator.pick(1...50)), offset: Int64(tickets), token: 0),
            expiration: generator.chance(50) ? 0 : UInt32(unixSeconds) + UInt32(generator.pick(0...3))
        )
        requests[tickets] = (request, number, UInt32(generator.pick(0...1)))
        let waits = Self.gates.filter { _ in generator.chance(30) }.map {
            Coalescer.Wait($0, until: (positions[$0] ?? 0) + UInt64(generator.pick(1...5)))
        }
        let window = generator.chance(30) ? Coalescer.Window.unknown : .none
        switch coalescer.arrive(request, of: subject(number), now: now, window: window, waits: waits) {
        case .passes:
            if open[number] != nil || !waits.isEmpty || window != .none { problems.append("\(tickets) passes") }
            answer(tickets, .passed)
        case .opens(let group):
            if open[number] != nil { problems.append("\(tickets) opens a group beside another") }
            open[number] = [tickets]
            if window == .unknown { asked.append(group) }
        case .joins(let superseded):
            if open[number] == nil { problems.append("\(tickets) joins none") }
            open[number, default: []].append(tickets)
            for ticket in superseded { answer(ticket, .superseded) }
        }
    }

    private mutating func settle() {
        let settled = coalescer.takeDue(now: now, unixSeconds: unixSeconds)
        var closed: Set<UInt64> = []
        for due in settled.due {
            answer(due.ticket, .sent)
            closed.insert(requests[due.ticket]?.subject ?? 99)
        }
        for ticket in settled.expired {
            answer(ticket, .expired)
            closed.insert(requests[ticket]?.subject ?? 99)
        }
        for ticket in settled.superseded { answer(ticket, .superseded) }
        if settled.due.map(\.ticket) != settled.due.map(\.ticket).sorted() { problems.append("out of order") }
        for subject in closed { compare(subject) }
    }

    /// The model's word: of all that came and is not forgotten, the newest that has not expired.
    private mutating func compare(_ subject: UInt64) {
        let all = (open.removeValue(forKey: subject) ?? []).filter { answers[$0] != .forgotten }
        let living = all.compactMap { requests[$0]?.request }
            .filter { $0.expiration == 0 || Int64($0.expiration) >= unixSeconds }
        let expected = living.max { $0.stamp < $1.stamp }?.ticket
        let sent = all.filter { answers[$0] == .sent }
        if sent != (expected.map { [$0] } ?? []) { problems.append("\(sent) instead of \(expected ?? 0)") }
        if all.contains(where: { answers[$0] == nil }) { problems.append("unanswered") }
    }

    private mutating func forget(assignment: UInt32) {
        let waiting = open.values.joined().filter { answers[$0] == nil && requests[$0]?.assignment == assignment }
        coalescer.forget(waiting.map { ($0, subject(requests[$0]?.subject ?? 99)) })
        for (subject, tickets) in open {
            for ticket in tickets where requests[ticket]?.assignment == assignment && answers[ticket] == nil {
                answer(ticket, .forgotten)
            }
            // A superseded request does not come back when the newer one is forgotten.
            let left = tickets.filter { answers[$0] == nil }
            open[subject] = left.isEmpty ? nil : left
        }
    }

    private mutating func answer(_ ticket: UInt64, _ answer: Answer) {
        if answers.updateValue(answer, forKey: ticket) != nil { problems.append("\(ticket) is answered twice") }
    }
}
