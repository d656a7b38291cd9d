import Foundation
import Sandbox
import TLSTransport

/// Scenario `sandbox`: a provider sends notifications of 110 bytes to devices all over the population as fast as they
/// are taken, first to the sandbox and then to a raw TLS sink, or the other way round; rounds alternate.
///
/// Both take the same bytes over the same number of connections under the same cipher. The sink reads and throws away,
/// in reads of the sandbox's size; it walks the frames to count them.
struct SandboxScenario {
    private enum Setting {
        static let bundle = "com.example.bench"
        static let tokens = 1_000_000
        /// A prime, so that it meets every device once: consecutive tokens lie far apart.
        static let stride = 7_368_787
        static let warmUpNotifications = 100_000
        /// As `SandboxLimits.readBytes`.
        static let sinkReadBytes = 256 * 1024
    }

    private enum Limit {
        static let sinkMilliseconds: Int32 = 60_000
        static let patienceMilliseconds: Int32 = 5000
    }

    private let sandbox: SandboxProcess
    private let sandboxFire: Fire
    private let sink: Sink
    private let sinkFire: Fire
    private let devices: Int
    private var sentToSandbox = 0
    private var sentToSink = 0

    /// Starts everything.
    init(servers: Servers, devices: Int, offlinePercent: Int, connections: Int) throws {
        say("starting")
        self.devices = devices
        let pki = servers.workspace.file("pki")
        try servers.run(
            "certificates",
            program: servers.programs.belfry,
            arguments: ["sandbox", "certificates", "--pki", pki.path, "--topics", Setting.bundle]
        )
        let tokens = servers.workspace.file("tokens")
        try Self.writeTokens(to: tokens, pki: pki, devices: devices)
        sandbox = try SandboxProcess(servers: servers, pki: pki, topic: Setting.bundle, devices: devices)
        if offlinePercent > 0 { try sandbox.set(first: devices / 100 * offlinePercent, to: "offline") }
        sink = try Sink(servers: servers, pki: pki, readBytes: Setting.sinkReadBytes)
        let fire = Fire.Ammunition(pki: pki, bundle: Setting.bundle, tokens: tokens, connections: connections)
        sandboxFire = try Fire("fire-sandbox", at: sandbox.gatewayPort, fire, servers: servers)
        sinkFire = try Fire("fire-sink", at: sink.port, fire, servers: servers)
        let (ours, theirs) = (sandboxFire.agreement, sinkFire.agreement)
        guard ours == theirs else {
            throw BenchmarkError("unequal: \(ours) with the sandbox, \(theirs) with the sink")
        }
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, notifications: Int, held: Int) throws -> SandboxReport {
        var report = SandboxReport(devices: devices, notifications: notifications)
        report.startupSeconds = sandbox.startupSeconds
        _ = try measureSandbox(Setting.warmUpNotifications)
        _ = try measureSink(Setting.warmUpNotifications)
        for round in 0..<rounds {
            if round.isMultiple(of: 2) {
                note(round, "sandbox", try measureSandbox(notifications), in: &report.sandbox)
                note(round, "sink", try measureSink(notifications), in: &report.floor)
            } else {
                note(round, "sink", try measureSink(notifications), in: &report.floor)
                note(round, "sandbox", try measureSandbox(notifications), in: &report.sandbox)
            }
        }
        report.connectionsHeld = try hold(held)
        report.residentMiB = try sandbox.child.residentPeakMiB()
        return report
    }

    /// The result of a round. Notifications per second by the wall's clock, microseconds of CPU time each.
    private typealias Measurement = (rate: Double, cpuMicroseconds: Double)

    private func note(_ round: Int, _ name: String, _ measurement: Measurement, in samples: inout ContenderSamples) {
        say("round \(round + 1): \(name) \(Int(measurement.rate))/s, \(measurement.cpuMicroseconds) us of CPU each")
        samples.rate.add(measurement.rate)
        samples.cpuMicroseconds.add(measurement.cpuMicroseconds)
    }

    /// Every notification that is sent has to be accepted, and no two are the same.
    private mutating func measureSandbox(_ count: Int) throws -> Measurement {
        let cpuBefore = try sandbox.child.cpuMicroseconds()
        let start = Sink.now()
        try sandboxFire.send(count)
        sentToSandbox += count
        let tally = try sandbox.awaitAccepted(sentToSandbox, patienceMilliseconds: Limit.patienceMilliseconds)
        let seconds = Double(Sink.now() - start) / 1e9
        let cpu = try sandbox.child.cpuMicroseconds() - cpuBefore
        try check(tally)
        return (Double(count) / seconds, cpu / Double(count))
    }

    private mutating func measureSink(_ count: Int) throws -> Measurement {
        let cpuBefore = try sink.child.cpuMicroseconds()
        let start = Sink.now()
        try sinkFire.send(count)
        sentToSink += count
        let totals = try sink.wait(notifications: sentToSink, milliseconds: Limit.sinkMilliseconds)
        let cpu = try sink.child.cpuMicroseconds() - cpuBefore
        guard totals.notifications == sentToSink else {
            throw BenchmarkError("sink: \(totals.notifications) notifications arrived, \(sentToSink) were sent")
        }
        return (Double(count) / (Double(totals.lastByteNanoseconds - start) / 1e9), cpu / Double(count))
    }

    private func check(_ tally: SandboxProcess.Tally) throws {
        guard tally.distinct == tally.accepted else {
            throw BenchmarkError("sandbox: of \(tally.accepted) accepted ones \(tally.distinct) are distinct")
        }
        guard tally.delivered + tally.stored + tally.coalesced == tally.accepted else {
            throw BenchmarkError("sandbox: its books do not balance: \(tally)")
        }
    }

    /// Opens many connections at once and sends a notification over each.
    ///
    /// - Returns: how many were open.
    private mutating func hold(_ count: Int) throws -> Int {
        say("holding \(count) connections")
        let before = try sandbox.openConnections()
        try sandboxFire.hold(count)
        try sandboxFire.sendOverEach()
        sentToSandbox += count
        try check(try sandbox.awaitAccepted(sentToSandbox, patienceMilliseconds: Limit.patienceMilliseconds))
        return try sandbox.openConnections() - before
    }

    /// Tokens of devices all over the population, in an order in which neighbours are far apart.
    private static func writeTokens(to file: URL, pki: URL, devices: Int) throws {
        let key = try DevelopmentPKI(directory: pki.path).tokenKey()
        let mint = TokenMint(key: key, environment: .development, topic: Setting.bundle)
        let count = min(Setting.tokens, devices)
        var bytes = [UInt8](repeating: 0, count: count * TokenMint.tokenBytes)
        bytes.withUnsafeMutableBytes { bytes in
            for index in 0..<count {
                let token = bytes[index * TokenMint.tokenBytes..<(index + 1) * TokenMint.tokenBytes]
                let device = AppInstance(device: UInt32(index * Setting.stride % devices))
                mint.mint(device, into: UnsafeMutableRawBufferPointer(rebasing: token))
            }
        }
        try Data(bytes).write(to: file)
    }
}
