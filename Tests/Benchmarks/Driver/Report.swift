import Foundation

/// One measure over several rounds.
struct Samples {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) {
        values.append(value)
    }

    /// The middle value, the mean of the two middle ones for an even count; 0 without any.
    var median: Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The median of the rounds' ratios to another measure of the same rounds: what was measured together is compared
    /// with each other, since a machine is not as fast in every round. 0 without any.
    func medianRatio(to other: Samples) -> Double {
        var ratios = Samples()
        for (value, rival) in zip(values, other.values) where rival > 0 { ratios.add(value / rival) }
        return ratios.median
    }

    /// Smallest and largest value.
    var spread: [Double] {
        [values.min() ?? 0, values.max() ?? 0]
    }
}

/// Measurements of one contender, over the rounds.
struct ContenderSamples {
    /// Notifications per second, from the start signal to the sink's last byte.
    var rate = Samples()
    /// CPU microseconds per notification, user and system, of all threads of the process.
    var cpuMicroseconds = Samples()
}

/// The result of a scenario.
struct Report {
    let scenario: String
    let notifications: Int
    var worker = ContenderSamples()
    var floor = ContenderSamples()
    /// Of a worker of another version; without values if none took part.
    var beside = ContenderSamples()
    /// The worker's largest resident set, in MiB.
    var residentMiB = 0.0

    /// The worker's CPU time as a multiple of the floor's.
    var ratio: Double { worker.cpuMicroseconds.medianRatio(to: floor.cpuMicroseconds) }

    /// The worker's CPU time as a multiple of that of the other version's worker; nil if none took part.
    var besideRatio: Double? {
        beside.cpuMicroseconds.values.isEmpty ? nil : worker.cpuMicroseconds.medianRatio(to: beside.cpuMicroseconds)
    }

    /// The ratio keeps to a limit; 0 means that there is none.
    func isWithin(limit: Double) -> Bool {
        limit == 0 || ratio <= limit
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        let fields = Fields(
            scenario: scenario,
            notifications: notifications,
            rounds: worker.rate.values.count,
            rate: rounded(worker.rate.median, digits: 0),
            rateSpread: worker.rate.spread.map { rounded($0, digits: 0) },
            workerCPU: rounded(worker.cpuMicroseconds.median, digits: 3),
            workerCPUSpread: worker.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            floorCPU: rounded(floor.cpuMicroseconds.median, digits: 3),
            floorCPUSpread: floor.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            floorRate: rounded(floor.rate.median, digits: 0),
            floorRateSpread: floor.rate.spread.map { rounded($0, digits: 0) },
            ratio: rounded(ratio, digits: 2),
            besideCPU: besideRatio.map { _ in rounded(beside.cpuMicroseconds.median, digits: 3) },
            besideRatio: besideRatio.map { rounded($0, digits: 3) },
            residentMiB: rounded(residentMiB, digits: 1)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let notifications: Int
        let rounds: Int
        let rate: Decimal
        let rateSpread: [Decimal]
        let workerCPU: Decimal
        let workerCPUSpread: [Decimal]
        let floorCPU: Decimal
        let floorCPUSpread: [Decimal]
        let floorRate: Decimal
        let floorRateSpread: [Decimal]
        let ratio: Decimal
        let besideCPU: Decimal?
        let besideRatio: Decimal?
        let residentMiB: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario
            case notifications
            case rounds
            case rate
            case rateSpread = "rate_spread"
            case workerCPU = "worker_cpu_us"
            case workerCPUSpread = "worker_cpu_us_spread"
            case floorCPU = "floor_cpu_us"
            case floorCPUSpread = "floor_cpu_us_spread"
            case floorRate = "floor_rate"
            case floorRateSpread = "floor_rate_spread"
            case ratio
            case besideCPU = "beside_cpu_us"
            case besideRatio = "beside_ratio"
            case residentMiB = "resident_mib"
        }
    }
}

/// A number as it is to be printed: a Decimal prints the digits meant, a Double sometimes many more.
func rounded(_ value: Double, digits: Int) -> Decimal {
    Decimal(string: String(format: "%.\(digits)f", value)) ?? 0
}

/// A result as one line of JSON, its keys in order.
func jsonLine(_ fields: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(fields), as: UTF8.self)
}
