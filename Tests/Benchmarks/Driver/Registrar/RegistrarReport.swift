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
