import ArgumentParser
import BelfrySupport
import BelfryTools
import Logging
import Sandbox

/// `belfry sandbox device`.
struct SandboxDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Be a virtual device: connect to the courier, print what arrives until SIGTERM, SIGINT or --count.",
        discussion: """
            Prints the token of each app, then its notifications, one line each; --json prints \
            {"topic","token"} and {"topic","token","priority","expiration","payload","received"} (payloadBase64 for \
            one that is not UTF-8). The device's certificate is device-<i>.pem of the PKI directory, made from its \
            ca.key if it is not there. A lost connection is made again, with growing waits; being refused is the end.
            """
    )

    @OptionGroup var pki: PKIOption

    @Option(help: "The virtual device's number, from 0.")
    var device: UInt32

    @Option(name: .customLong("topic"), help: "Bundle IDs of its apps, separated by commas.")
    var topicList: String

    @Option(help: "Host of the courier.")
    var host = "127.0.0.1"

    @Option(help: "Port of the courier.")
    var port: UInt16 = 5223

    @Option(help: "Present this token instead of registering.")
    var token: HexToken?

    @Option(help: ArgumentHelp("End after so many notifications; 0: as soon as the tokens are known.", valueName: "n"))
    var count: Int?

    @Flag(help: "Get other tokens first, as after restoring a backup onto this device.")
    var restore = false

    @Flag(help: "Get other tokens first, as after wiping the device.")
    var wipe = false

    @Flag(help: "Uninstall the apps, and end.")
    var unregister = false

    @OptionGroup var output: OutputOptions

    private var topics: [String] { topicList.split(separator: ",").map(String.init) }

    func validate() throws {
        guard !topics.isEmpty else { throw ValidationError("--topic: at least one bundle ID is expected") }
        if let count, count < 0 { throw ValidationError("--count must be at least 0") }
        guard [restore, wipe, unregister, token != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("--restore, --wipe, --unregister and --token exclude each other")
        }
    }

    func run() async throws {
        var settings = DeviceClient.Settings(
            pkiDirectory: pki.directory,
            port: Int(port),
            device: device,
            topics: topics
        )
        settings.host = host
        settings.token = token?.bytes
        settings.count = count
        if restore { settings.errand = .restore }
        if wipe { settings.errand = .wipe }
        if unregister { settings.errand = .unregister }
        try await run(settings)
    }

    private func run(_ settings: DeviceClient.Settings) async throws {
        ProcessLog.begin(level: .info)
        let logger = Logger(label: "belfry.device")
        try await reportingSetupErrors {
            let stop = StopSignals()
            let notice = WaitNotice("what comes from the courier at \(settings.host):\(settings.port)")
            let client = Task {
                try await DeviceClient.run(settings, logger: logger) { [output] report in
                    notice.end()
                    output.print(json: report.json, text: report.text)
                }
            }
            let watch = Task {
                await stop.first()
                client.cancel()
            }
            defer {
                watch.cancel()
                notice.end()
            }
            try await client.value
        }
    }
}

/// A device token as an argument.
struct HexToken: ExpressibleByArgument {
    let bytes: [UInt8]

    init?(argument: String) {
        guard let bytes = Sandbox.token(fromHex: argument) else { return nil }
        self.bytes = bytes
    }
}
