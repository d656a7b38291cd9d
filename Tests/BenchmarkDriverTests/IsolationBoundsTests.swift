import Testing

@testable import belfry_bench

@Suite("The bounds of the isolation benchmark")
struct IsolationBoundsTests {
    /// One that keeps every bound, most of them just so.
    private let kept: IsolationReport = {
        var report = IsolationReport(scenario: "invalid-100", sickness: .invalidAll)
        report.seconds = 60
        report.rate = 19_000
        report.rateAlone = 20_000
        report.p99Milliseconds = 50
        report.p99AloneMilliseconds = 4
        report.sessionSeconds = 6
        report.takeoverSeconds = 11
        report.catchUpSeconds = 15
        report.deadLetterBytesRatio = 2
        report.sickOffered = 1_200_000
        report.sickQueue = 120_000
        return report
    }()

    private func missed(_ change: (inout IsolationReport) -> Void) -> [String] {
        var report = kept
        change(&report)
        return report.missed
    }

    @Test("A report at its bounds passes")
    func passes() {
        #expect(kept.missed == [])
    }

    @Test("Each bound is missed by itself")
    func each() {
        #expect(missed { $0.lost = 1 } == ["lost"])
        #expect(missed { $0.takeoverSeconds = 11.1 } == ["takeover_seconds"])
        #expect(missed { $0.catchUpSeconds = nil } == ["catch_up_seconds"])
        #expect(missed { $0.rate = 18_900 } == ["rate_ratio"])
        #expect(missed { $0.p99Milliseconds = 51 } == ["p99_ms"])
        #expect(missed { $0.p99Milliseconds = nil } == ["p99_ms"])
        #expect(missed { $0.tombstones = 1 } == ["tombstones"])
        #expect(missed { $0.deadLetterBytesRatio = 2.1 } == ["dead_letter_bytes_ratio"])
        #expect(missed { $0.sickOffered = 1_199_999 } == ["sick_offered", "sick_offered_queues"])
        #expect(missed { $0.sickQueue = 120_001 } == ["sick_offered_queues"])
    }

    @Test("A slow healthy topic may be twice as slow; tombstones are right where some tokens are good")
    func conditions() {
        #expect(missed { ($0.p99AloneMilliseconds, $0.p99Milliseconds) = (100, 200) } == [])
        #expect(missed { ($0.p99AloneMilliseconds, $0.p99Milliseconds) = (100, 201) } == ["p99_ms"])
        #expect(missed { ($0.sickness, $0.tombstones) = (.invalidSome, 7) } == [])
    }

    @Test("A topic that comes back keeps its rate and its order, and all of it comes")
    func comeback() throws {
        func missed(_ comeback: IsolationReport.Comeback) -> [String] { self.missed { $0.comeback = comeback } }
        let good = IsolationReport.Comeback(
            notifications: 10,
            rate: 70,
            liveRate: 100,
            lost: 0,
            duplicates: 5,
            disordered: 0
        )
        #expect(missed(good) == [])
        var report = kept
        report.comeback = good
        #expect(try IsolationReport.fields.unexplained(inLine: report.line()) == [])
        var bad = good
        (bad.rate, bad.lost, bad.disordered) = (69, 1, 1)
        #expect(missed(bad) == ["return_lost", "order_violations", "return_ratio"])
    }

    @Test("A sick topic is offered ten times its queue at 20,000 a second or more", arguments: [2, 5, 10, 60, 600])
    func dose(seconds: Int) {
        let dose = Dose(seconds: seconds, partitions: 24)
        #expect(dose.rate >= Bounds.sickRate)
        #expect(dose.rate * seconds >= Bounds.queues * dose.queue * 24)
        #expect(Dose.queues.contains(dose.queue))
    }

    @Test("A notification counts unless the take-over held it up")
    func windows() {
        let windows = Percentile.Windows(start: 10, kill: 20, caughtUp: 50, end: 60)
        func includes(_ sent: Int64, _ accepted: Int64) -> Bool {
            windows.include(DeliveryLedger.Sample(sent: sent, accepted: accepted))
        }
        #expect(includes(10, 20))
        #expect(!includes(9, 12))
        #expect(!includes(19, 21))
        #expect(!includes(30, 55))
        #expect(includes(50, 90))
        #expect(!includes(61, 62))
    }

    @Test("A line says which bounds were missed; the last one whether any was")
    func lines() throws {
        var bad = kept
        bad.lost = 3
        #expect(try kept.line().contains(#""missed":[],"#))
        #expect(try bad.line().contains(#""missed":["lost"]"#))
        #expect(
            try IsolationReport.lastLine([kept, bad])
                == #"{"missed":["invalid-100"],"passed":false,"scenario":"all","scenarios":2}"#
        )
        #expect(try IsolationReport.lastLine([kept]).contains(#""passed":true"#))
        #expect(try IsolationReport.fields.unexplained(inLine: IsolationReport.lastLine([kept])) == [])
    }
}
