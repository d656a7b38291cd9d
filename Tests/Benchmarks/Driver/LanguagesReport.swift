/// The result of the scenario `languages`.
struct LanguagesReport {
    /// Localizations, beside the text for all others.
    let languages: Int
    /// In each measurement.
    let notifications: Int
    /// The worker, with all languages.
    var many = ContenderSamples()
    /// The worker, with one.
    var one = ContenderSamples()

    /// The rate with all languages as a multiple of that with one.
    var ratio: Double { many.rate.medianRatio(to: one.rate) }

    /// The notifications by second of CPU time with all languages as a multiple of those with one. Redis, which may
    /// limit the rate, has no part in it.
    var cpuRatio: Double { one.cpuMicroseconds.medianRatio(to: many.cpuMicroseconds) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (ratio >= 0.9, "0.9 times the worker's rate in one language"),
            (cpuRatio >= 0.9, "0.9 times the worker's notifications by second and core in one language"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        func number(_ value: Double, digits: Int) -> FieldValue { .number(rounded(value, digits: digits)) }
        func numbers(_ values: [Double], digits: Int) -> FieldValue {
            .numbers(values.map { rounded($0, digits: digits) })
        }
        let fields: [String: FieldValue] = [
            "scenario": .text("languages"),
            "passed": .flag(missedTargets.isEmpty),
            "missed": .texts(missedTargets),
            "languages": number(Double(languages), digits: 0),
            "notifications": number(Double(notifications), digits: 0),
            "rounds": number(Double(many.rate.values.count), digits: 0),
            "languages_rate": number(many.rate.median, digits: 0),
            "languages_rate_spread": numbers(many.rate.spread, digits: 0),
            "one_language_rate": number(one.rate.median, digits: 0),
            "one_language_rate_spread": numbers(one.rate.spread, digits: 0),
            "languages_ratio": number(ratio, digits: 3),
            "languages_cpu_us": number(many.cpuMicroseconds.median, digits: 3),
            "one_language_cpu_us": number(one.cpuMicroseconds.median, digits: 3),
            "languages_cpu_ratio": number(cpuRatio, digits: 3),
        ]
        return try jsonLine(fields)
    }
}
