import Workbench

/// The result of `belfry-bench run registrar`.
struct RegistrarReport {
    /// One contender in one round.
    struct Run: Equatable {
        let seconds: Double
        /// Of the contender, for a registration.
        let cpuMicroseconds: Double
        /// Of Redis, for a registration.
        let redisMicroseconds: Double
    }

    /// One contender over the rounds.
    struct Contender {
        fileprivate let registrations: Int
        /// Of registrations.
        var samples = ContenderSamples()
        var redisMicroseconds = Samples()

        init(registrations: Int) {
            self.registrations = registrations
        }

        mutating func add(_ run: Run) {
            samples.rate.add(Double(registrations) / run.seconds)
            samples.cpuMicroseconds.add(run.cpuMicroseconds)
            redisMicroseconds.add(run.redisMicroseconds)
        }
    }

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, registrations, rounds: What was measured; registrations of a round.
        rate, loop_rate, ratio: Registrations a second of the registrar, calls a second of the loop, and their ratio: \
        0.8.
        registrar_cpu_us, loop_cpu_us: CPU microseconds per registration, Kafka and all threads included.
        redis_cpu_us, loop_redis_cpu_us: Those of Redis meanwhile.
        passed, missed: The judgement, and the targets that were missed.
        """
    )

    /// In each round.
    let registrations: Int
    var registrar: Contender
    /// The bare loop.
    var loop: Contender

    init(registrations: Int) {
        self.registrations = registrations
        registrar = Contender(registrations: registrations)
        loop = Contender(registrations: registrations)
    }

    /// The registrar's rate as a share of the loop's.
    var ratio: Double { registrar.samples.rate.medianRatio(to: loop.samples.rate) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        ratio >= 0.8 ? [] : ["0.8 times the rate of the bare loop"]
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: "registrar")
        line.judge(missed: missedTargets)
        line.add("registrations", registrations)
        line.add("rounds", loop.samples.rate.values.count)
        line.add(registrar.samples, rate: "rate", cpu: "registrar_cpu_us")
        line.add(loop.samples, rate: "loop_rate", cpu: "loop_cpu_us")
        line.add("ratio", ratio, digits: 2)
        line.add("redis_cpu_us", registrar.redisMicroseconds.median, digits: 3)
        line.add("loop_redis_cpu_us", loop.redisMicroseconds.median, digits: 3)
        return try line.text()
    }
}
