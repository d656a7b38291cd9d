import ArgumentParser
import BelfrySupport
import Dispatch
import Glibc
import Logging
import Sandbox

/// `belfry sandbox …`: the push service, for trying things out and for tests.
struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Play the push service: gateway, provider API, feedback service and virtual devices.",
        subcommands: [
            SandboxServeCommand.self, SandboxCertificatesCommand.self, SandboxTokensCommand.self,
            SandboxAcceptedCommand.self, SandboxDeviceCommand.self, SandboxRevokeCommand.self,
        ]
    )
}

/// `belfry sandbox serve`.
struct SandboxServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the push service until SIGTERM or SIGINT.",
        discussion: """
            Port 0 picks a free one. When it is ready, one line of JSON with the ports is printed. The control port \
            (GET /stats, /accepted, /notification, /channels and /faults, POST /devices, /feedback, /population, \
            /subscriptions and /faults) is on the loopback address only.
            """
    )

    @OptionGroup var pki: PKIOption
    @OptionGroup var topics: TopicsOption

    @Option(help: "Virtual devices; each has the app of every topic.")
    var devices: Int

    @Option(help: "Address to listen on for gateway, provider API, feedback and devices.")
    var listen = "127.0.0.1"

    @Option(help: "Port of the gateway.")
    var gatewayPort: UInt16 = 2195

    @Option(help: "Port of the feedback service.")
    var feedbackPort: UInt16 = 2196

    @Option(help: "Port of the courier for devices.")
    var devicePort: UInt16 = 5223

    @Option(help: "Port of the provider API: HTTP/2 with certificates or provider tokens.")
    var apiPort: UInt16 = 2197

    @Option(help: "Further port of the provider API, for the management of channels; default: none.")
    var channelsPort: UInt16?

    @Option(help: "Port of the control interface.")
    var controlPort: UInt16 = 2190

    @Option(
        help: ArgumentHelp(
            "Script of faults: {\"seed\":7,\"steps\":[{\"at\":1.5,\"fault\":{…}},{\"at\":9,\"clear\":true}]}.",
            discussion: "Times are seconds since the start; a fault is what POST /faults takes.",
            valueName: "file"
        )
    )
    var faults: String?

    @Option(help: "Event-loop threads for gateway, provider API and feedback.")
    var threads = 1

    @OptionGroup var environment: SandboxEnvironmentOption
    @OptionGroup var formats: SandboxFormatOptions

    @Option(
        help: """
            List of revoked certificates (PEM); read again when it changes, for connections to come. Default: crl.pem \
            in the PKI directory, when there is one.
            """
    )
    var revoked: String?
    // Without a title: groups with one are printed before the options that are required.
    @OptionGroup var ledger: SandboxLedgerOptions

    func run() async throws {
        ProcessLog.begin(level: .info)
        DescriptorLimit.raise()
        var configuration = SandboxConfiguration(pkiDirectory: pki.directory, topics: topics.names, devices: devices)
        configuration.listenHost = listen
        configuration.gatewayPort = Int(gatewayPort)
        configuration.feedbackPort = Int(feedbackPort)
        configuration.controlPort = Int(controlPort)
        configuration.devicePort = Int(devicePort)
        configuration.apiPort = Int(apiPort)
        configuration.channelsPort = channelsPort.map { Int($0) }
        configuration.threads = threads
        configuration.faultScript = faults
        configuration.environment = environment.value
        configuration.revocationFile = revoked
        let logger = Logger(label: "belfry.sandbox")
        try await reportingSetupErrors {
            configuration.ledger = try ledger.configuration()
            try formats.apply(to: &configuration)
            let stop = StopSignals()
            let server = try await SandboxServer.start(configuration, logger: logger)
            print(server.ports.json)
            // A pipe is buffered, and its reader is waiting for this line.
            fflush(nil)
            await stop.first()
            try await server.stop()
        }
    }
}

/// `belfry sandbox certificates`.
struct SandboxCertificatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificates",
        abstract: "Write a development PKI: ca.pem, server.pem, token.key, certificates and keys of providers.",
        discussion: """
            Providers get <bundle>.pem and <bundle>.p12, and keys/AuthKey_<key id>.p8 for provider tokens, with a copy \
            beside the certificates, which keys.json lists. What is there already is kept; topics can be added. The \
            passphrase of the .p12 files is belfry. Production has token key, certificates and keys of its own: \
            token.production.key, <bundle>.production.pem and .p12.
            """
    )

    @OptionGroup var pki: PKIOption
    @OptionGroup var topics: TopicsOption
    @OptionGroup var environment: SandboxEnvironmentOption

    @Option(help: "Further host names of the service, separated by commas; for a new server.pem only.")
    var serverNames = ""

    @Option(help: "Virtual devices to write a device-<i>.pem for as well: one number or first-last.")
    var devices: DeviceRange?

    @Option(help: "Team of the topics; the keys of further teams stand in keys/<team>/.")
    var team = Sandbox.defaultTeam

    @Flag(help: "Write a key for each of the topics alone as well.")
    var topicKeys = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let names = serverNames.split(separator: ",").map(String.init)
        try await reportingSetupErrors {
            var report = try Sandbox.writeCertificates(
                directory: pki.directory,
                topics: topics.names,
                serverNames: names,
                environment: environment.value,
                team: team,
                withTopicKeys: topicKeys
            )
            if let devices = devices?.range {
                try Sandbox.writeDeviceCertificates(directory: pki.directory, devices: devices, report: &report)
            }
            output.print(json: report.json, text: report.text)
        }
    }
}

/// `7` or `0-9`.
struct DeviceRange: ExpressibleByArgument {
    let range: ClosedRange<UInt32>

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false).map { UInt32($0) }
        guard (1...2).contains(ends.count), let first = ends.first.flatMap({ $0 }),
            let last = ends.last.flatMap({ $0 }), first <= last
        else { return nil }
        range = first...last
    }
}

/// `belfry sandbox tokens`.
struct SandboxTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Print valid device tokens of a topic, one hex line each; needs no running server."
    )

    @OptionGroup var pki: PKIOption

    @Option(help: "Bundle ID.")
    var topic: String

    @Option(help: "How many tokens.")
    var count: Int

    @Option(help: "The first virtual device.")
    var first = 0

    @OptionGroup var environment: SandboxEnvironmentOption

    @Option(help: "How long the tokens are, 32 to 100 bytes; the service lets more than 32 through by --token-limit.")
    var tokenBytes = 32

    func run() async throws {
        try await reportingSetupErrors {
            var lines = ""
            try Sandbox.forEachToken(
                pkiDirectory: pki.directory,
                topic: topic,
                first: first,
                count: count,
                environment: environment.value,
                tokenBytes: tokenBytes
            ) { token in
                lines += token
                lines += "\n"
                guard lines.utf8.count > 1 << 16 else { return }
                print(lines, terminator: "")
                lines = ""
            }
            print(lines, terminator: "")
        }
    }
}

/// The directory that all parts of the sandbox share.
struct PKIOption: ParsableArguments {
    @Option(name: .customLong("pki"), help: "Directory of the development PKI.")
    var directory: String
}

/// Bundle IDs separated by commas.
struct TopicsOption: ParsableArguments {
    @Option(name: .customLong("topics"), help: "Bundle IDs, separated by commas.")
    var list: String

    var names: [String] {
        list.split(separator: ",").map(String.init)
    }

    func validate() throws {
        guard !names.isEmpty else { throw ValidationError("--topics: at least one bundle ID is expected") }
    }
}

/// Turns what is wrong with the set-up into a line on stderr and exit code 78, and a port that cannot be had into 1.
func reportingSetupErrors(_ body: () async throws -> Void) async throws {
    let (problem, code): (String, Int32)
    do {
        return try await body()
    } catch let error as SandboxSetupError {
        (problem, code) = (error.description, 78)
    } catch let error as SandboxPortError {
        (problem, code) = (error.description, 1)
    } catch let error as DeviceClient.Refusal {
        (problem, code) = ("the courier refused the device: \(error)", 1)
    }
    let line = "belfry: \(problem)\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    throw ExitCode(code)
}

/// SIGTERM and SIGINT as something to wait for. From its creation on they do not kill the process any more.
struct StopSignals {
    private let arrivals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.arrivals = arrivals
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield() }
            source.activate()
            return source
        }
    }

    /// Returns at the first signal since the creation.
    func first() async {
        for await _ in arrivals { return }
    }
}
