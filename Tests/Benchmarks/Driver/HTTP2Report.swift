import Foundation

/// The result of the scenario `http2`.
struct HTTP2Report {
    let notifications: Int
    let connections: Int
    /// Streams that each server allows on a connection.
    let streams: Int
    /// The worker, sending to the sandbox.
    var worker = ContenderSamples()
    /// h2load, sending to the sandbox.
    var load = ContenderSamples()
    /// CPU microseconds of the sandbox for a request of h2load.
    var sandboxMicroseconds = Samples()
    /// CPU microseconds of nghttpd for a request of h2load.
    var serverMicroseconds = Samples()
    /// The worker's largest resident set, in MiB.
    var residentMiB = 0.0

    /// The worker's notifications per second as a multiple of h2load's requests per second.
    var loadRatio: Double { worker.rate.medianRatio(to: load.rate) }

    /// The worker's CPU time of a notification as a multiple of h2load's of a request.
    var cpuRatio: Double { worker.cpuMicroseconds.medianRatio(to: load.cpuMicroseconds) }

    /// The sandbox's requests per second of CPU time as a multiple of nghttpd's.
    var sandboxRatio: Double { serverMicroseconds.medianRatio(to: sandboxMicroseconds) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (loadRatio >= 0.8, "0.8 times h2load's rate"),
            (cpuRatio <= 1.5, "1.5 times h2load's CPU time"),
            (sandboxRatio >= 0.8, "0.8 times the requests that nghttpd answers per second and core"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        let fields = Fields(
            scenario: "http2",
            notifications: notifications,
            rounds: worker.rate.values.count,
            connections: connections,
            streams: streams,
            rate: rounded(worker.rate.median, digits: 0),
            rateSpread: worker.rate.spread.map { rounded($0, digits: 0) },
            loadRate: rounded(load.rate.median, digits: 0),
            loadRateSpread: load.rate.spread.map { rounded($0, digits: 0) },
            loadRatio: rounded(loadRatio, digits: 2),
            workerCPU: rounded(worker.cpuMicroseconds.median, digits: 3),
            workerCPUSpread: worker.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            loadCPU: rounded(load.cpuMicroseconds.median, digits: 3),
            loadCPUSpread: load.cpuMicroseconds.spread.map { rounded($0, digits: 3) },
            cpuRatio: rounded(cpuRatio, digits: 2),
            sandboxCPU: rounded(sandboxMicroseconds.median, digits: 3),
            sandboxCPUSpread: sandboxMicroseconds.spread.map { rounded($0, digits: 3) },
            serverCPU: rounded(serverMicroseconds.median, digits: 3),
            serverCPUSpread: serverMicroseconds.spread.map { rounded($0, digits: 3) },
            sandboxRatio: rounded(sandboxRatio, digits: 2),
            residentMiB: rounded(residentMiB, digits: 1)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let notifications: Int
        let rounds: Int
        let connections: Int
        let streams: Int
        let rate: Decimal
        let rateSpread: [Decimal]
        let loadRate: Decimal
        let loadRateSpread: [Decimal]
        let loadRatio: Decimal
        let workerCPU: Decimal
        let workerCPUSpread: [Decimal]
        let loadCPU: Decimal
        let loadCPUSpread: [Decimal]
        let cpuRatio: Decimal
        let sandboxCPU: Decimal
        let sandboxCPUSpread: [Decimal]
        let serverCPU: Decimal
        let serverCPUSpread: [Decimal]
        let sandboxRatio: Decimal
        let residentMiB: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario
            case notifications
            case rounds
            case connections
            case streams
            case rate
            case rateSpread = "rate_spread"
            case loadRate = "h2load_rate"
            case loadRateSpread = "h2load_rate_spread"
            case loadRatio = "h2load_ratio"
            case workerCPU = "worker_cpu_us"
            case workerCPUSpread = "worker_cpu_us_spread"
            case loadCPU = "h2load_cpu_us"
            case loadCPUSpread = "h2load_cpu_us_spread"
            case cpuRatio = "cpu_ratio"
            case sandboxCPU = "sandbox_cpu_us"
            case sandboxCPUSpread = "sandbox_cpu_us_spread"
            case serverCPU = "nghttpd_cpu_us"
            case serverCPUSpread = "nghttpd_cpu_us_spread"
            case sandboxRatio = "sandbox_ratio"
            case residentMiB = "resident_mib"
        }
    }
}
