import Foundation
import Testing

@testable import belfry_chaos

/// The judgement on memory and descriptors of a long run.
@Suite struct SoakTests {
    private static let mebibyte = 1 << 20

    /// One sample a second.
    private func samples(
        seconds: Int,
        _ mebibytes: (Int) -> Double,
        descriptors: (Int) -> Int = { _ in 50 }
    ) -> [SoakSample] {
        (0...seconds).map {
            SoakSample(
                seconds: Double($0),
                residentBytes: Int(mebibytes($0) * Double(Self.mebibyte)),
                descriptors: descriptors($0)
            )
        }
    }

    /// - Parameter drained: nil: the samples.
    private func report(
        seconds: Int,
        lost: Int = 0,
        isCorrect: Bool = true,
        _ samples: [SoakSample],
        drained: [SoakSample]? = nil
    ) -> SoakReport {
        SoakReport(
            seconds: seconds,
            notifications: 9,
            lost: lost,
            isCorrect: isCorrect,
            trends: ["worker": samples].compactMapValues { SoakTrend($0) },
            drained: ["worker": drained ?? samples].compactMapValues { SoakTrend($0) }
        )
    }

    @Test("The slope is that of the second half, whatever the first half did")
    func slope() throws {
        let trend = try #require(
            SoakTrend(samples(seconds: 600) { $0 < 300 ? Double($0) : 300 + Double($0 - 300) / 100 })
        )
        #expect(abs(trend.slopePerHour - 36) < 0.1 && abs(trend.growth - 3) < 0.1)
        #expect(abs(trend.resident - 301.5) < 0.1 && trend.isMemoryFlat)
        #expect(SoakTrend([]) == nil && SoakTrend(Array(samples(seconds: 1) { _ in 1 }.prefix(1))) == nil)
    }

    @Test("Noise around a level is flat, and a leak within it is not")
    func leak() throws {
        let noise = { (second: Int) in Double(second * 7919 % 13) / 4 }
        #expect(try #require(SoakTrend(samples(seconds: 600) { 80 + noise($0) })).isMemoryFlat)
        #expect(!(try #require(SoakTrend(samples(seconds: 600) { 80 + noise($0) + Double($0) / 50 })).isMemoryFlat))
    }

    @Test("A run passes with nothing lost, correct books, flat memory and flat descriptors, and only then")
    func verdict() throws {
        let flat = samples(seconds: 600) { _ in 80 }
        #expect(report(seconds: 600, flat).passes)
        #expect(!report(seconds: 600, lost: 1, flat).passes && !report(seconds: 600, isCorrect: false, flat).passes)
        let rising = samples(seconds: 600) { Double($0) }
        #expect(!report(seconds: 600, rising).passes)
        #expect(report(seconds: 600, rising).complaints[0].hasPrefix("worker: its memory grew by "))
        #expect(report(seconds: 299, rising).passes, "too short to say anything about memory")
        let open = samples(seconds: 20, { _ in 80 }, descriptors: { $0 * 6 })
        #expect(report(seconds: 20, open).complaints == ["worker: its descriptors went from 60 to 120"])
        #expect(!report(seconds: 600, []).passes, "nothing was looked at")
    }

    @Test("Memory that is left behind by campaigns that have drained fails a run; what they need meanwhile does not")
    func leftBehind() {
        // A campaign every six seconds, which drains in three.
        func level(_ second: Int) -> Double { second % 6 < 3 ? 130 : 80 }
        func drained(_ memory: (Int) -> Double) -> [SoakSample] {
            samples(seconds: 600, memory).filter { Int($0.seconds) % 6 >= 3 }
        }
        let all = samples(seconds: 600, level)
        #expect(report(seconds: 600, all, drained: drained(level)).complaints.isEmpty)
        let leak = drained { level($0) + Double($0) / 50 }
        #expect(
            report(seconds: 600, all, drained: leak).complaints
                == ["worker: campaigns of one topic after the other left 5.9 MiB behind"]
        )
        #expect(
            report(seconds: 600, all, drained: []).complaints
                == ["worker: no campaign had drained before the next one came"]
        )
        #expect(report(seconds: 299, all, drained: leak).passes && report(seconds: 299, all, drained: []).passes)
    }

    @Test("Each of fifty topics has one campaign, which comes at once, a minute before what is judged begins")
    func campaigns() {
        let plan = CampaignPlan(seconds: 600, rate: 5000)
        #expect(plan.interval == .milliseconds(7400), "230 seconds of mixed records")
        #expect(plan.topic(of: UInt32(plan.mixedRecords)) == nil && plan.batch(after: plan.mixedRecords - 1) == nil)
        for campaign in 0..<CampaignPlan.topics {
            let made = plan.mixedRecords + campaign * plan.recordsPerCampaign
            #expect(plan.batch(after: made) == plan.recordsPerCampaign)
            #expect(plan.batch(after: made + plan.recordsPerCampaign - 1) == 1)
            let topics = (1...plan.recordsPerCampaign).map { plan.topic(of: UInt32(made + $0)) }
            #expect(Set(topics) == [campaign])
        }
        let short = CampaignPlan(seconds: 20, rate: 100)
        #expect(short.mixedRecords > 0 && short.recordsPerCampaign > 0 && short.interval == .milliseconds(300))
    }

    @Test("Every field of the last lines stands in the help")
    func fields() throws {
        #expect(ChaosReport.fields.unexplained(ChaosReport.fieldNames) == [])
        let line = try report(seconds: 600, samples(seconds: 600) { _ in 80 }).line()
        #expect(try SoakReport.fields.unexplained(inLine: line) == [])
    }

    @Test("A sample of this process has its memory and descriptors; of one that has ended there is none")
    func sample() throws {
        let sample = try #require(SoakSample(of: ProcessInfo.processInfo.processIdentifier, seconds: 1))
        #expect(sample.residentBytes > Self.mebibyte && sample.descriptors > 2)
        #expect(SoakSample(of: .max, seconds: 1) == nil)
    }

    @Test("An undisturbed run lists feedback, and does nothing else")
    func calm() {
        let events = ChaosSchedule(calm: 7, seconds: 60).events
        #expect(events.count > 30)
        for event in events {
            guard case .listFeedback = event.action else {
                Issue.record("\(event)")
                continue
            }
        }
    }
}
