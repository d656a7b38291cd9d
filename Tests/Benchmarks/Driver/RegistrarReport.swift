import Foundation

/// The result of `belfry-bench registrar`.
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
        /// Registrations a second.
        var rate = Samples()
        var cpuMicroseconds = Samples()
        var redisMicroseconds = Samples()

        init(registrations: Int) {
            self.registrations = registrations
        }

        mutating func add(_ run: Run) {
            rate.add(Double(registrations) / run.seconds)
            cpuMicroseconds.add(run.cpuMicroseconds)
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
    var ratio: Double { registrar.rate.medianRatio(to: loop.rate) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        ratio >= 0.8 ? [] : ["0.8 times the rate of the bare loop"]
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        let fields = Fields(
            scenario: "registrar",
            passed: missedTargets.isEmpty,
            missed: missedTargets,
            registrations: registrations,
            rounds: loop.rate.values.count,
            rate: rounded(registrar.rate.median, digits: 0),
            rateSpread: registrar.rate.spread.map { rounded($0, digits: 0) },
            loopRate: rounded(loop.rate.median, digits: 0),
            loopRateSpread: loop.rate.spread.map { rounded($0, digits: 0) },
            ratio: rounded(ratio, digits: 2),
            registrarCPU: rounded(registrar.cpuMicroseconds.median, digits: 3),
            registrarCPUSpread: registrar.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            loopCPU: rounded(loop.cpuMicroseconds.median, digits: 3),
            loopCPUSpread: loop.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            redisCPU: rounded(registrar.redisMicroseconds.median, digits: 3),
            loopRedisCPU: rounded(loop.redisMicroseconds.median, digits: 3)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let passed: Bool
        let missed: [String]
        let registrations: Int
        let rounds: Int
        let rate: Decimal
        let rateSpread: [Decimal]
        let loopRate: Decimal
        let loopRateSpread: [Decimal]
        let ratio: Decimal
        let registrarCPU: Decimal
        let registrarCPUSpread: [Decimal]
        let loopCPU: Decimal
        let loopCPUSpread: [Decimal]
        let redisCPU: Decimal
        let loopRedisCPU: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario, passed, missed, registrations, rounds, rate, ratio
            case rateSpread = "rate_spread"
            case loopRate = "loop_rate"
            case loopRateSpread = "loop_rate_spread"
            case registrarCPU = "registrar_cpu_us"
            case registrarCPUSpread = "registrar_cpu_us_spread"
            case loopCPU = "loop_cpu_us"
            case loopCPUSpread = "loop_cpu_us_spread"
            case redisCPU = "redis_cpu_us"
            case loopRedisCPU = "loop_redis_cpu_us"
        }
    }
}
