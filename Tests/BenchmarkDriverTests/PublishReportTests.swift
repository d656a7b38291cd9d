import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on publishing")
struct PublishReportTests {
    /// - Parameters:
    ///   - seconds: of `belfry publish` for 1,000,000 tokens, by round.
    ///   - loopSeconds: of the bare loop for as many.
    private func report(
        seconds: [Double] = [0.5],
        loopSeconds: [Double] = [0.6],
        cpuSeconds: Double = 0.4,
        packedCPUSeconds: Double = 0.2,
        peakMiB: Double = 44,
        languageRates: [Double] = [950],
        languageCPU: Double = 4.2
    ) -> PublishReport {
        var languages = LanguagesReport(languages: 12, notifications: 500)
        for rate in languageRates {
            languages.many.rate.add(rate)
            languages.one.rate.add(1000)
            languages.many.cpuMicroseconds.add(languageCPU)
            languages.one.cpuMicroseconds.add(4)
        }
        var report = PublishReport(tokens: 1_000_000, languages: languages)
        for (seconds, loopSeconds) in zip(seconds, loopSeconds) {
            report.lines.add(
                PublisherRun(seconds: seconds, cpuMicroseconds: cpuSeconds * 1e6, peakMiB: 40),
                tokens: 1_000_000
            )
            report.packed.add(
                PublisherRun(seconds: seconds / 2, cpuMicroseconds: packedCPUSeconds * 1e6, peakMiB: peakMiB),
                tokens: 1_000_000
            )
            let loop = PublisherRun(seconds: loopSeconds, cpuMicroseconds: 1)
            report.loop.add(loop, tokens: 1_000_000)
            report.batchedLoop.add(loop, tokens: 4_000_000)
        }
        return report
    }

    @Test("Tokens by second and core are those of CPU time, ratios are of the clock on the wall and of each round")
    func measures() {
        let report = report(seconds: [1, 2, 4], loopSeconds: [1, 1, 1])
        #expect(report.lines.perSecondCore.median == 2_500_000)
        #expect(report.packed.perSecondCore.median == 5_000_000)
        #expect(report.ratio == 0.5)
        #expect(report.batchedRatio == 0.125)
        #expect(report.peakMiB == 44, "the largest of all runs")
    }

    @Test("Without a miss nothing is said, and every target that is missed is named")
    func targets() {
        #expect(report().missedTargets.isEmpty)
        #expect(report(cpuSeconds: 1.1).missedTargets == ["1,000,000 tokens by second and core, of lines"])
        #expect(report(packedCPUSeconds: 1.1).missedTargets == ["1,000,000 tokens by second and core, packed"])
        #expect(report(loopSeconds: [0.3]).missedTargets == ["0.7 times the rate of the bare loop"])
        #expect(report(peakMiB: 128.5).missedTargets == ["128 MiB of memory"])
        let slow = report(languageRates: [850, 890, 950])
        #expect(slow.missedTargets == ["0.9 times the worker's rate in one language"])
        #expect(
            report(languageCPU: 4.5).missedTargets
                == ["0.9 times the worker's notifications by second and core in one language"]
        )
    }

    @Test("The line is JSON with the fields that callers read")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report().line().utf8))
        let fields = try #require(object as? [String: Any])
        let others = LanguagesReport.fields.unexplained(fields.keys)
        #expect(PublishReport.fields.unexplained(others) == [])
        #expect(fields["tokens_per_second_core"] as? Int == 2_500_000)
        #expect(fields["packed_tokens_per_second_core_spread"] as? [Int] == [5_000_000, 5_000_000])
        #expect(fields["ratio"] as? Double == 1.2)
        #expect(fields["peak_memory_mib"] as? Int == 44)
        #expect(fields["languages_ratio"] as? Double == 0.95)
        #expect(fields["passed"] as? Bool == true)
    }

    @Test("Payloads in all languages, and in one, have the same size")
    func payloads() throws {
        let many = LanguagesScenario.notification(7, hasLanguages: true)
        #expect(many.localizations.count == LanguagesScenario.locales.count)
        let one = LanguagesScenario.notification(8, hasLanguages: false)
        #expect(one.localizations.isEmpty)
        #expect(Set(many.localizations.values.map { $0.body.utf8.count }) == [one.alert.body.utf8.count])
        #expect(many.alert.body.utf8.count == one.alert.body.utf8.count)
    }

    @Test("A file of lines holds the tokens of a packed one in hexadecimal digits")
    func files() {
        let packed = TokenFileWriter(form: .packed).bytes(3..<5)
        let lines = TokenFileWriter(form: .lines).bytes(3..<5)
        #expect(packed.count == 64)
        let digits = packed.map { String(format: "%02x", $0) }
        #expect(
            String(decoding: lines, as: UTF8.self)
                == digits[..<32].joined() + "\n" + digits[32...].joined() + "\n"
        )
    }
}
