import Workbench

/// The result of the scenario `http2`.
struct HTTP2Report {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, notifications, rounds: What was measured; notifications of a round.
        rate, h2load_rate, h2load_ratio: The worker's notifications a second, h2load's requests a second from the same \
        sandbox, and their ratio: 0.8.
        worker_cpu_us, h2load_cpu_us, cpu_ratio: CPU microseconds of each, Kafka and all threads included, and their \
        ratio: 1.5.
        sandbox_cpu_us, nghttpd_cpu_us, sandbox_ratio: CPU microseconds of the servers for a request of h2load; the \
        sandbox's requests by second and core as a share of nghttpd's: 0.8.
        connections, streams, resident_mib: Of each client; that each server allows on a connection; the worker's \
        largest resident set.
        """
    )

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
        var line = ResultLine(scenario: "http2")
        line.add("notifications", notifications)
        line.add("rounds", worker.rate.values.count)
        line.add("connections", connections)
        line.add("streams", streams)
        line.add(worker, rate: "rate", cpu: "worker_cpu_us")
        line.add(load, rate: "h2load_rate", cpu: "h2load_cpu_us")
        line.add("h2load_ratio", loadRatio, digits: 2)
        line.add("cpu_ratio", cpuRatio, digits: 2)
        line.add("sandbox_cpu_us", sandboxMicroseconds, digits: 3)
        line.add("nghttpd_cpu_us", serverMicroseconds, digits: 3)
        line.add("sandbox_ratio", sandboxRatio, digits: 2)
        line.add("resident_mib", residentMiB, digits: 1)
        return try line.text()
    }
}
