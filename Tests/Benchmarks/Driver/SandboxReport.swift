import Foundation

/// The result of the sandbox's scenario.
struct SandboxReport {
    let devices: Int
    let notifications: Int
    var sandbox = ContenderSamples()
    var floor = ContenderSamples()
    /// Of the sandbox of another version; without values if none took part.
    var beside = ContenderSamples()
    /// From the start of the process to the line that says it is ready.
    var startupSeconds = 0.0
    /// Gateway connections that were open at once, each of which had a notification accepted.
    var connectionsHeld = 0
    /// The largest resident set, all of the above included, in MiB.
    var residentMiB = 0.0

    /// By CPU time: what one core would accept if it did nothing else.
    var acceptedPerCoreSecond: Double {
        sandbox.cpuMicroseconds.median > 0 ? 1e6 / sandbox.cpuMicroseconds.median : 0
    }

    /// CPU time of a notification as a multiple of the raw sink's.
    var ratio: Double { sandbox.cpuMicroseconds.medianRatio(to: floor.cpuMicroseconds) }

    /// CPU time of a notification as a multiple of the other version's; nil if none took part.
    var besideRatio: Double? {
        beside.cpuMicroseconds.values.isEmpty ? nil : sandbox.cpuMicroseconds.medianRatio(to: beside.cpuMicroseconds)
    }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (acceptedPerCoreSecond >= 1_000_000, "1,000,000 accepted per second and core"),
            (ratio <= 2, "twice the CPU time of a raw TLS sink"),
            (residentMiB <= 1024, "1 GiB resident"),
            (startupSeconds <= 5, "start-up within 5 s"),
            (connectionsHeld >= 2000, "2,000 gateway connections held at once"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        let fields = Fields(
            scenario: "sandbox",
            devices: devices,
            notifications: notifications,
            rounds: sandbox.rate.values.count,
            acceptedPerCoreSecond: rounded(acceptedPerCoreSecond, digits: 0),
            rate: rounded(sandbox.rate.median, digits: 0),
            rateSpread: sandbox.rate.spread.map { rounded($0, digits: 0) },
            floorRate: rounded(floor.rate.median, digits: 0),
            floorRateSpread: floor.rate.spread.map { rounded($0, digits: 0) },
            cpu: rounded(sandbox.cpuMicroseconds.median, digits: 3),
            cpuSpread: sandbox.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            floorCPU: rounded(floor.cpuMicroseconds.median, digits: 3),
            floorCPUSpread: floor.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            floorRatio: rounded(ratio, digits: 2),
            besideCPU: besideRatio.map { _ in rounded(beside.cpuMicroseconds.median, digits: 3) },
            besideRatio: besideRatio.map { rounded($0, digits: 3) },
            startupSeconds: rounded(startupSeconds, digits: 2),
            connectionsHeld: connectionsHeld,
            residentMiB: rounded(residentMiB, digits: 1)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let devices: Int
        let notifications: Int
        let rounds: Int
        let acceptedPerCoreSecond: Decimal
        let rate: Decimal
        let rateSpread: [Decimal]
        let floorRate: Decimal
        let floorRateSpread: [Decimal]
        let cpu: Decimal
        let cpuSpread: [Decimal]
        let floorCPU: Decimal
        let floorCPUSpread: [Decimal]
        let floorRatio: Decimal
        let besideCPU: Decimal?
        let besideRatio: Decimal?
        let startupSeconds: Decimal
        let connectionsHeld: Int
        let residentMiB: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario
            case devices
            case notifications
            case rounds
            case acceptedPerCoreSecond = "accepted_per_core_s"
            case rate
            case rateSpread = "rate_spread"
            case floorRate = "floor_rate"
            case floorRateSpread = "floor_rate_spread"
            case cpu = "cpu_us"
            case cpuSpread = "cpu_us_spread"
            case floorCPU = "floor_cpu_us"
            case floorCPUSpread = "floor_cpu_us_spread"
            case floorRatio = "floor_ratio"
            case besideCPU = "beside_cpu_us"
            case besideRatio = "beside_ratio"
            case startupSeconds = "startup_s"
            case connectionsHeld = "connections_held"
            case residentMiB = "resident_mib"
        }
    }
}
