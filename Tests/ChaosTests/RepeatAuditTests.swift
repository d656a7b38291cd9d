import Testing

@testable import LocalPipeline
@testable import belfry_chaos

@Suite("What may be repeated though nothing was stored of it")
struct RepeatAuditTests {
    private static let bounds = RepeatAudit.Bounds(delaySeconds: 3, reachSeconds: 6)
    /// Two topics in partition 0, and the first one in partition 1.
    private static let log = [
        RepeatAudit.Entry(number: 1, topic: 0, partition: .init(.normal, 0), count: 2),
        RepeatAudit.Entry(number: 2, topic: 1, partition: .init(.normal, 0), count: 1),
        RepeatAudit.Entry(number: 3, topic: 0, partition: .init(.normal, 0), count: 1),
        RepeatAudit.Entry(number: 4, topic: 0, partition: .init(.normal, 1), count: 1),
    ]

    /// Lets a mutating method stand in an expectation.
    private final class Judge {
        private var audit: RepeatAudit

        init(_ audit: RepeatAudit) {
            self.audit = audit
        }

        func noteOutcome(number: UInt32, token: Int, second: UInt32) {
            audit.noteOutcome(number: number, token: token, second: second)
        }

        func accepts(number: UInt32, token: Int, second: UInt32) -> Bool {
            audit.accepts(number: number, token: token, second: second)
        }
    }

    private func makeAudit(_ ends: [OwnershipEnds.End]) -> Judge {
        Judge(RepeatAudit(Self.bounds, ends: OwnershipEnds(ends), log: Self.log))
    }

    /// All of record 1, and record 3, were accepted at 100 and had their outcomes at 102.
    private func settled(_ ends: [OwnershipEnds.End]) -> Judge {
        let audit = makeAudit(ends)
        for (number, token) in [(1, 0), (1, 1), (3, 0)] as [(UInt32, Int)] {
            #expect(audit.accepts(number: number, token: token, second: 100))
            audit.noteOutcome(number: number, token: token, second: 102)
        }
        return audit
    }

    @Test("A notification without an outcome may be repeated at any time; one that was never accepted is no repetition")
    func open() {
        let audit = makeAudit([])
        for second in [100, 101, 200] as [UInt32] { #expect(audit.accepts(number: 2, token: 0, second: second)) }
        audit.noteOutcome(number: 4, token: 0, second: 300)
        #expect(audit.accepts(number: 4, token: 0, second: 400))
    }

    @Test("A notification with an outcome may be repeated only if its partition changed hands before a commit was due")
    func ended() {
        for (end, isAllowed) in [(96, false), (97, true), (102, true), (108, true), (109, false)] as [(UInt32, Bool)] {
            for partitions in [nil, [.init(.normal, 0)]] as [Set<RequestPartition>?] {
                let audit = settled([OwnershipEnds.End(second: end, partitions: partitions)])
                #expect(audit.accepts(number: 1, token: 1, second: 150) == isAllowed, "\(end)")
            }
        }
    }

    @Test("The end of another partition, or of that of another lane, or one that is still to come, allows nothing")
    func others() {
        let audit = settled([
            OwnershipEnds.End(second: 103, partitions: [.init(.normal, 1), .init(.urgent, 0)]),
            OwnershipEnds.End(second: 107, partitions: [.init(.normal, 0)]),
        ])
        #expect(!audit.accepts(number: 1, token: 0, second: 106))
        #expect(audit.accepts(number: 3, token: 0, second: 107))
    }

    @Test("A worker that commits nothing is found out when it ends after a while")
    func commitsNothing() {
        let audit = makeAudit([OwnershipEnds.End(second: 130)])
        var isAllowed: [Bool] = []
        for (number, second) in [(1, 100), (3, 126)] as [(UInt32, UInt32)] {
            #expect(audit.accepts(number: number, token: 0, second: second))
            audit.noteOutcome(number: number, token: 0, second: second + 2)
        }
        audit.noteOutcome(number: 1, token: 1, second: 102)
        for number in [1, 3] as [UInt32] { isAllowed.append(audit.accepts(number: number, token: 0, second: 132)) }
        #expect(isAllowed == [false, true])
    }

    @Test("A notification repeated by right may be repeated again before it has another outcome, and after that anew")
    func again() {
        let audit = settled([OwnershipEnds.End(second: 103), OwnershipEnds.End(second: 130)])
        #expect(audit.accepts(number: 1, token: 0, second: 110))
        #expect(audit.accepts(number: 1, token: 0, second: 120), "no outcome since the last")
        audit.noteOutcome(number: 1, token: 0, second: 122)
        #expect(!audit.accepts(number: 1, token: 0, second: 131))
    }

    @Test("An older notification of the topic without an outcome holds the cursor, one of another topic does not")
    func held() {
        let audit = makeAudit([OwnershipEnds.End(second: 130)])
        for number in [2, 3] as [UInt32] {
            #expect(audit.accepts(number: number, token: 0, second: 100))
            audit.noteOutcome(number: number, token: 0, second: 102)
        }
        audit.noteOutcome(number: 1, token: 0, second: 102)
        #expect(audit.accepts(number: 3, token: 0, second: 131), "record 1 has one that is open")
        #expect(!audit.accepts(number: 2, token: 0, second: 131))
    }

    @Test("An outcome of something older shortly before the end has held the cursor")
    func heldUntil() {
        let audit = makeAudit([OwnershipEnds.End(second: 130)])
        #expect(audit.accepts(number: 3, token: 0, second: 100))
        audit.noteOutcome(number: 3, token: 0, second: 102)
        for token in 0...1 { audit.noteOutcome(number: 1, token: token, second: 125) }
        #expect(audit.accepts(number: 3, token: 0, second: 140))
    }

    @Test("A notification that is not in the log, or is there twice and therefore left out, is not judged")
    func unknown() {
        let audit = settled([])
        audit.noteOutcome(number: 9, token: 0, second: 100)
        audit.noteOutcome(number: 1, token: 2, second: 100)
        for _ in 0..<2 {
            #expect(audit.accepts(number: 9, token: 0, second: 110))
            #expect(audit.accepts(number: 1, token: 2, second: 110))
        }
    }

    @Test("A moved record holds the cursor where it was published until its copy comes, which is judged in its place")
    func moved() {
        let entries = [
            RepeatAudit.Entry(
                number: 1,
                topic: 0,
                partition: .init(.urgent, 0),
                count: 2,
                isSender: false
            ),
            RepeatAudit.Entry(number: 2, topic: 0, partition: .init(.urgent, 0), count: 1),
            RepeatAudit.Entry(number: 1, topic: 0, partition: .init(.normal, 0), count: 2, copy: 1),
        ]
        let ends = OwnershipEnds([.init(second: 130, partitions: [.init(.urgent, 0)])])
        for comes in [nil, 102, 125] as [UInt32?] {
            var audit = RepeatAudit(Self.bounds, ends: ends, log: entries)
            var isAllowed: [Bool] = []
            for (number, token) in [(1, 0), (1, 1), (2, 0)] as [(UInt32, Int)] {
                isAllowed.append(audit.accepts(number: number, token: token, second: 100))
                audit.noteOutcome(number: number, copy: number == 1 ? 1 : 0, token: token, second: 102)
            }
            if let comes { audit.noteCopy(number: 1, second: comes) }
            #expect(isAllowed == [true, true, true])
            // Of the copy, whose partition did not change hands, and of the next urgent record.
            isAllowed = [1, 2].map { audit.accepts(number: $0, token: 0, second: 132) }
            #expect(isAllowed == [false, comes != 102], "\(comes ?? 0)")
        }
    }

    @Test("Each copy has outcomes of its own, and none is judged by acceptances that may be another's")
    func copies() {
        let entries = (1...2 as ClosedRange<UInt8>).map { copy in
            RepeatAudit.Entry(
                number: 1,
                topic: 0,
                partition: .init(.normal, 0),
                count: 1,
                copy: copy,
                isSender: false
            )
        }
        let next = RepeatAudit.Entry(number: 2, topic: 0, partition: .init(.normal, 0), count: 1)
        var audit = RepeatAudit(Self.bounds, ends: OwnershipEnds([]), log: entries + [next])
        var isAllowed: [Bool] = []
        for number in [1, 2] as [UInt32] {
            isAllowed.append(audit.accepts(number: number, token: 0, second: 100))
            audit.noteOutcome(number: number, copy: number == 1 ? 1 : 0, token: 0, second: 102)
        }
        for number in [1, 2] as [UInt32] { isAllowed.append(audit.accepts(number: number, token: 0, second: 120)) }
        audit.noteOutcome(number: 1, copy: 2, token: 0, second: 121)
        audit.noteOutcome(number: 2, token: 0, second: 121)
        for number in [1, 2] as [UInt32] { isAllowed.append(audit.accepts(number: number, token: 0, second: 140)) }
        #expect(isAllowed == [true, true, true, true, true, false], "the second copy held the cursor until 121")
    }

    @Test("An acceptance may be that of the record of a copy, whose partition changed hands")
    func formerOwner() {
        let origins: [RequestPartition?] = [RequestPartition(.urgent, 0), RequestPartition(.urgent, 1), nil]
        for origin in origins {
            let copy = RepeatAudit.Entry(
                number: 1,
                topic: 0,
                partition: .init(.normal, 0),
                count: 1,
                copy: 1,
                origin: origin
            )
            let ends = OwnershipEnds([.init(second: 104, partitions: [.init(.urgent, 0)])])
            var audit = RepeatAudit(Self.bounds, ends: ends, log: [copy])
            var isAllowed = [audit.accepts(number: 1, token: 0, second: 100)]
            audit.noteOutcome(number: 1, copy: 1, token: 0, second: 102)
            isAllowed.append(audit.accepts(number: 1, token: 0, second: 106))
            #expect(isAllowed == [true, origin == RequestPartition(.urgent, 0)])
        }
    }

    @Test("The largest value up to a place is what a plain search finds")
    func prefixMaximum() {
        var values = [UInt32](repeating: 0, count: 37)
        var tree = PrefixMaximum(count: values.count)
        for step in 0..<500 {
            let place = step * 29 % values.count
            values[place] = max(values[place], UInt32(step * 7919 % 1000))
            tree.raise(place, to: UInt32(step * 7919 % 1000))
            let asked = step * 11 % values.count
            #expect(tree.maximum(through: asked) == values[...asked].max())
        }
    }

    @Test("A log says which partitions are held, and when others were given back or lost")
    func losses() {
        func line(_ second: String, _ message: String, _ key: String, _ partitions: String) -> String {
            #"{"time":"2026-11-25T18:00:\#(second)Z","message":"\#(message)","#
                + #""metadata":{"\#(key)":"0","partitions":"\#(partitions)"}}"#
        }
        let log = [
            line("01.500", "partitions assigned", "shard", "[0, 3]"),
            line("05.999", "partitions revoked", "shard", "[3]"),
            line("07.000", "something else", "shard", "[0]"),
            line("08.000", "partitions lost", "source", "[1]"),
            String(line("09.000", "partitions assigned", "source", "[1]").dropLast(20)),
        ].joined(separator: "\n")
        #expect(
            WorkerLog.losses(in: log) == [
                .init(second: 1_795_629_605, partitions: [3]), .init(second: 1_795_629_608, partitions: [1]),
            ]
        )
        #expect(WorkerLog.holdings(in: log, by: "shard") == ["0": [0]])
        #expect(WorkerLog.holdings(in: log, by: "source") == [:])
    }
}
