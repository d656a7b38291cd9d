import Testing

@testable import belfry_bench

@Suite("The report on processes that come and go")
struct ScalingReportTests {
    private func report(
        lost: Int = 0,
        disordered: Int = 0,
        shards: Int = 1,
        tokens: TokenFlow.Result = .init(registrations: 9, feedback: 8, feedbackUnpublished: 2),
        _ change: (inout [ScalingReport.Step]) -> Void = { _ in }
    ) -> ScalingReport {
        var steps = WorkerChange.allCases.map { change in
            ScalingReport.Step(
                change: change,
                workers: 2,
                killed: 3,
                seconds: 4.26,
                p50Milliseconds: 10.04,
                p99Milliseconds: 20,
                longestMilliseconds: 1234.5,
                duplicates: change == .none ? 0 : 7
            )
        }
        change(&steps)
        return ScalingReport(
            transport: .http2,
            shards: shards,
            rate: 20_000,
            steps: steps,
            lost: lost,
            disordered: disordered,
            tokens: tokens
        )
    }

    @Test("Each bound is missed by itself")
    func bounds() {
        #expect(report().missed == [])
        #expect(report(lost: 1).missed == ["lost"])
        #expect(report(disordered: 1).missed == ["order_violations"])
        #expect(report { $0[4].seconds = nil }.missed == ["cordon: seconds"])
        #expect(report { $0[0].duplicates = 1 }.missed == ["none: duplicates"])
        #expect(report(shards: 2) { $0[0].duplicates = 1 }.missed == [], "they may still be sharing out")
        let registrations = report(tokens: .init(registrations: 1, registrationsLost: 1))
        #expect(registrations.missed == ["registrations_lost", "feedback"])
        let feedback = report(tokens: .init(feedback: 1, feedbackLost: 1, strangeTokens: 1))
        #expect(feedback.missed == ["registrations", "feedback_lost", "strange_tokens"])
    }

    @Test("The line has every step in order")
    func line() throws {
        let step =
            #"{"change":"none","duplicates":0,"killed":3,"longest_ms":1234.5,"p50_ms":10,"p99_ms":20,"#
            + #""seconds":4.3,"workers":2}"#
        let line = try report { $0 = [$0[0]] }.line()
        #expect(try ScalingReport.fields.unexplained(inLine: line) == [])
        #expect(
            line == #"{"feedback":8,"feedback_lost":0,"feedback_unpublished":2,"lost":0,"missed":[],"#
                + #""order_violations":0,"passed":true,"rate":20000,"registrations":9,"registrations_lost":0,"#
                + #""scenario":"scaling","steps":[\#(step)],"strange_tokens":0,"transport":"http2"}"#
        )
    }
}
