import Foundation
import Sandbox

/// Scenario `sandbox`: a provider sends notifications of 110 bytes to devices all over the population as fast as they
/// are taken, first to the sandbox and then to a raw TLS sink, or the other way round; rounds alternate. The sandbox of
/// another version can take part, between the two.
///
/// All take the same bytes over the same number of connections under the same cipher. The sink reads and throws away,
/// in reads of the sandbox's size; it walks the frames to count them.
struct SandboxScenario {
    private enum Setting {
        static let tokens = 1_000_000
        /// A prime, so that it meets every device once: consecutive tokens lie far apart.
        static let stride = 7_368_787
        static let warmUpNotifications = 100_000
    }

    private enum Limit {
        static let sinkMilliseconds: Int32 = 60_000
        static let patienceMilliseconds: Int32 = 5000
    }

    /// A sandbox, and the provider that sends to it.
    private struct Contender {
        let sandbox: SandboxProcess
        let fire: Fire
        var sent = 0
    }

    /// The contenders of a round, in its order or backwards.
    private enum Turn: CaseIterable {
        case sandbox
        case beside
        case sink
    }

    private var contender: Contender
    private var beside: Contender?
    private let sink: Sink
    private let sinkFire: Fire
    private let devices: Int
    private var sentToSink = 0

    /// Starts everything.
    ///
    /// - Parameter beside: another `belfry` executable, whose sandbox takes part; nil: none does.
    init(servers: Servers, devices: Int, offlinePercent: Int, connections: Int, beside: String? = nil) throws {
        say("starting")
        self.devices = devices
        let pki = try servers.makePKI(topics: [BenchmarkApp.bundle])
        let tokens = servers.workspace.file("tokens")
        try Self.writeTokens(to: tokens, pki: pki, devices: devices)
        let ammunition = Fire.Ammunition(
            pki: pki,
            bundle: BenchmarkApp.bundle,
            tokens: tokens,
            connections: connections
        )
        func start(_ name: String, program: String?) throws -> Contender {
            let sandbox = try SandboxProcess(
                name,
                program: program,
                servers: servers,
                pki: pki,
                topic: BenchmarkApp.bundle,
                devices: devices
            )
            if offlinePercent > 0 { try sandbox.set(first: devices / 100 * offlinePercent, to: "offline") }
            let fire = try Fire("fire-\(name)", at: sandbox.gatewayPort, ammunition, servers: servers)
            return Contender(sandbox: sandbox, fire: fire)
        }
        contender = try start("sandbox", program: nil)
        self.beside = try beside.map { try start("beside", program: $0) }
        sink = try Sink(servers: servers, pki: pki, readBytes: Sink.sandboxReadBytes)
        sinkFire = try Fire("fire-sink", at: sink.port, ammunition, servers: servers)
        let (ours, theirs) = (contender.fire.agreement, sinkFire.agreement)
        guard ours == theirs else {
            throw BenchmarkError("unequal: \(ours) with the sandbox, \(theirs) with the sink")
        }
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, notifications: Int, held: Int) throws -> SandboxReport {
        var report = SandboxReport(devices: devices, notifications: notifications)
        report.startupSeconds = contender.sandbox.startupSeconds
        _ = try Self.measure(&contender, Setting.warmUpNotifications)
        _ = try measureBeside(Setting.warmUpNotifications)
        _ = try measureSink(Setting.warmUpNotifications)
        for round in 0..<rounds {
            let turns: [Turn] = round.isMultiple(of: 2) ? Turn.allCases : Turn.allCases.reversed()
            for turn in turns {
                switch turn {
                case .sandbox:
                    note(round, "sandbox", try Self.measure(&contender, notifications), in: &report.sandbox)
                case .beside:
                    guard let measurement = try measureBeside(notifications) else { break }
                    note(round, "beside", measurement, in: &report.beside)
                case .sink:
                    note(round, "sink", try measureSink(notifications), in: &report.floor)
                }
            }
        }
        report.connectionsHeld = try hold(held)
        report.residentMiB = try contender.sandbox.child.residentPeakMiB()
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
    private static func measure(_ contender: inout Contender, _ count: Int) throws -> Measurement {
        let cpuBefore = try contender.sandbox.child.cpuMicroseconds()
        let start = Sink.now()
        try contender.fire.send(count)
        contender.sent += count
        let patience = Limit.patienceMilliseconds
        let tally = try contender.sandbox.awaitAccepted(contender.sent, patienceMilliseconds: patience)
        let seconds = Double(Sink.now() - start) / 1e9
        let cpu = try contender.sandbox.child.cpuMicroseconds() - cpuBefore
        try check(tally)
        return (Double(count) / seconds, cpu / Double(count))
    }

    /// - Returns: nil: no other version takes part.
    private mutating func measureBeside(_ count: Int) throws -> Measurement? {
        guard var contender = beside else { return nil }
        defer { beside = contender }
        return try Self.measure(&contender, count)
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

    private static func check(_ tally: SandboxProcess.Tally) throws {
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
        let sandbox = contender.sandbox
        let before = try sandbox.openConnections()
        try contender.fire.hold(count)
        try contender.fire.sendOverEach()
        contender.sent += count
        try Self.check(try sandbox.awaitAccepted(contender.sent, patienceMilliseconds: Limit.patienceMilliseconds))
        return try sandbox.openConnections() - before
    }

    /// Tokens of devices all over the population, in an order in which neighbours are far apart.
    private static func writeTokens(to file: URL, pki: URL, devices: Int) throws {
        let mint = try BenchmarkApp.mint(pki: pki)
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
