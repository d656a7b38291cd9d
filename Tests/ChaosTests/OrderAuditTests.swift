import Testing

@testable import belfry_chaos

@Suite("What was accepted for a token came in order")
struct OrderAuditTests {
    private func violations(_ accepted: [UInt32]) -> [OrderAudit.Violation] {
        OrderAudit(accepted).violations
    }

    @Test(
        "First acceptances in published order and resends that repeat a suffix are what is promised",
        arguments: [
            [], [7], [7, 9, 12],
            // Sent again from the middle, then on.
            [1, 2, 3, 4, 3, 4, 5],
            // Twice the last; all of it.
            [1, 2, 2], [1, 2, 3, 1, 2, 3],
            // A resend cut short by another.
            [1, 2, 3, 4, 2, 3, 2, 3, 4, 5], [1, 2, 3, 1, 1, 2, 3],
            // Numbers that were never accepted leave no gap.
            [1, 5, 9, 5, 9, 14],
        ] as [[UInt32]]
    )
    func promised(accepted: [UInt32]) {
        #expect(violations(accepted).isEmpty)
    }

    @Test("A notification that is first accepted after a newer one was overtaken")
    func overtaken() {
        #expect(violations([1, 3, 2, 3]) == [.overtaken(number: 2, by: 3)])
        #expect(violations([1, 4, 2, 3, 4]) == [.overtaken(number: 2, by: 4), .overtaken(number: 3, by: 4)])
    }

    @Test("A late notification is told apart if all newer ones came again after it")
    func late() {
        for accepted in [[1, 3, 2, 3], [1, 4, 2, 3, 4], [1, 3, 4, 1, 2, 3, 4, 5], []] as [[UInt32]] {
            #expect(OrderAudit(accepted).isLateOnly)
        }
        // Left out by one resend, and sent again by the next, with all that is newer.
        for accepted in [[1, 2, 3, 1, 3, 2, 3], [1, 2, 3, 1, 4, 1, 2, 3, 4]] as [[UInt32]] {
            let audit = OrderAudit(accepted)
            #expect(!audit.violations.isEmpty && audit.isLateOnly)
        }
        #expect(OrderAudit([1, 2, 3, 1, 3, 2, 3] as [UInt32]).late == 1)
        #expect(OrderAudit([1, 2, 3, 4, 1, 4, 2, 3, 4] as [UInt32]).late == 2)
        for accepted in [
            [1, 2, 3, 1, 2], [1, 3, 2], [1, 3, 2, 4], [1, 3, 4, 2, 4], [1, 2, 4, 1, 3, 4], [1, 2, 3, 3, 1],
        ]
            as [[UInt32]]
        {
            #expect(!OrderAudit(accepted).isLateOnly)
        }
    }

    @Test("A resend may leave out what was stored as done by then, and is excused; not what is done later")
    func done() {
        // The first was refused when it was sent again, which no outcome tells.
        for (accepted, done) in [([1, 2, 3, 2, 3, 1, 3], [2]), ([1, 2, 3, 2, 3, 1], [2, 3])]
            as [([UInt32], Set<UInt32>)]
        {
            let audit = OrderAudit(accepted, isDone: { number, place in done.contains(number) && place >= 5 })
            #expect(audit.violations.isEmpty && audit.isLateOnly && audit.late == 0 && audit.excused == 1)
            #expect(!OrderAudit(accepted, isDone: { number, place in done.contains(number) && place >= 7 }).isLateOnly)
        }
        #expect(OrderAudit([1, 2, 3, 1, 3] as [UInt32], isDone: { number, _ in number == 3 }).violations.count == 1)
    }

    @Test("Something new in the middle of a resend cuts it short")
    func cutShort() {
        #expect(violations([1, 2, 3, 1, 4]) == [.cutShort(after: 1, by: 4)])
    }

    @Test("A resend that leaves something out has a hole")
    func hole() {
        #expect(violations([1, 2, 3, 1, 3]) == [.hole(after: 1, before: 3)])
    }

    @Test("The last accepted is the newest")
    func staleLast() {
        #expect(violations([1, 2, 3, 2]) == [.staleLast(2, newest: 3)])
        #expect(violations([2, 1]) == [.overtaken(number: 1, by: 2), .staleLast(1, newest: 2)])
    }

    @Test("A notification with another outcome may be left out by a resend; nothing excuses overtaking")
    func excused() {
        for accepted in [[1, 2, 3, 1, 3], [1, 2, 1, 3], [1, 2, 1]] as [[UInt32]] {
            #expect(!violations(accepted).isEmpty)
            let audit = OrderAudit(accepted) { $0 == 2 }
            #expect(audit.violations.isEmpty)
            #expect(audit.excused == 1)
            #expect(OrderAudit(accepted) { $0 == 1 } == OrderAudit(accepted))
        }
        #expect(OrderAudit([1, 2, 3, 1, 4] as [UInt32]) { $0 == 2 }.violations == [.cutShort(after: 1, by: 4)])
        #expect(OrderAudit([1, 3, 2, 3] as [UInt32]) { _ in true }.violations == [.overtaken(number: 2, by: 3)])
    }

    @Test("Another order than that of the numbers counts, for first acceptances and for what is sent again")
    func anotherOrder() {
        // The second one was moved behind the third.
        let offsets: [UInt32: Int64] = [1: 10, 2: 30, 3: 20, 4: 40]
        func audit(_ accepted: [UInt32]) -> OrderAudit {
            OrderAudit(accepted, order: { offsets[$0] ?? 0 })
        }
        for accepted in [[1, 3, 2, 4], [1, 3, 2, 3, 2, 4]] as [[UInt32]] {
            #expect(audit(accepted).violations.isEmpty && !violations(accepted).isEmpty)
        }
        #expect(audit([1, 2, 3, 4]).violations.first == OrderAudit.Violation.overtaken(number: 3, by: 2))
        #expect(audit([1, 3, 2, 1, 2]).violations == [.hole(after: 1, before: 2)])
    }

    @Test("Acceptances beyond the first are counted, and how often it began again")
    func counts() {
        let audit = OrderAudit([1, 2, 3, 2, 3, 3, 4] as [UInt32])
        #expect(audit.duplicates == 3)
        #expect(audit.resends == 2)
    }
}
