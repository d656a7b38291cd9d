import Workbench

/// The result of the scenario `languages`.
struct LanguagesReport {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of languages, with their targets",
        """
        scenario, rounds, languages, notifications, passed, missed: What was measured, and the judgement.
        languages_rate, one_language_rate, languages_ratio: The worker's notifications a second with twelve \
        localizations, with none, and their ratio: 0.9.
        languages_cpu_us, one_language_cpu_us, languages_cpu_ratio: Its CPU microseconds per notification, and the \
        ratio of one language to twelve, which counts even where Redis limits the rate: 0.9.
        """
    )

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
        var line = ResultLine(scenario: "languages")
        line.judge(missed: missedTargets)
        line.add("rounds", many.rate.values.count)
        addFields(to: &line)
        return try line.text()
    }

    /// The scenario's own fields, which the report on publishing has, too.
    func addFields(to line: inout ResultLine) {
        line.add("languages", languages)
        line.add("notifications", notifications)
        line.add("languages_rate", many.rate, digits: 0)
        line.add("one_language_rate", one.rate, digits: 0)
        line.add("languages_ratio", ratio, digits: 3)
        line.add("languages_cpu_us", many.cpuMicroseconds.median, digits: 3)
        line.add("one_language_cpu_us", one.cpuMicroseconds.median, digits: 3)
        line.add("languages_cpu_ratio", cpuRatio, digits: 3)
    }
}
