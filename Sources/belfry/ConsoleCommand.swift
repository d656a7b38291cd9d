import ArgumentParser
import BelfrySupport
import BelfryTools
import Console
import Glibc

/// `belfry console`: the page of the fleet.
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Serve the page of the fleet: what all roles do, and what wants attention.",
        discussion: """
            Looks at GET /status of every role once a second, and keeps the last hour in memory. When it is ready, one \
            line of JSON with its port is printed. It reads only: nothing can be changed through it. Ends at SIGTERM or \
            SIGINT.
            """
    )

    @Option(
        help: ArgumentHelp(
            """
            The operations ports of the roles, separated by commas. dns:name:port stands for every address of a name, \
            which is resolved anew every few seconds.
            """,
            valueName: "host:port,…|dns:name:port"
        )
    )
    var scrape: String

    @Option(help: "Address to listen on.")
    var listen = "127.0.0.1"

    @Option(help: "Port to listen on; 0 picks a free one.")
    var port: UInt16 = 2189

    @Option(
        help: ArgumentHelp(
            "Host names under which the page is reached from elsewhere, separated by commas.",
            valueName: "name,…"
        )
    )
    var servedAs = ""

    @Option(help: ArgumentHelp("A file with the token that the roles' operations ports want.", valueName: "file"))
    var bearerTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The authorities (PEM) of the roles' operations ports; left out, these speak plain HTTP.",
            valueName: "file"
        )
    )
    var trust: String?

    @Option(help: ArgumentHelp("The name in the roles' certificates; default: the host asked.", valueName: "name"))
    var serverName: String?

    func validate() throws {
        do {
            _ = try ScrapeTarget.list(parsing: scrape)
        } catch {
            throw ValidationError("--\(error)")
        }
    }

    func run() async throws {
        ProcessLog.begin(level: .info)
        DescriptorLimit.raise()
        let server: ConsoleServer
        let stop = StopSignals()
        do {
            var settings = ConsoleConfiguration(targets: try ScrapeTarget.list(parsing: scrape))
            settings.listen = listen
            settings.port = Int(port)
            settings.names = servedAs.split(separator: ",").map(String.init)
            settings.bearerToken = try bearerTokenFile.map(ConsoleConfiguration.bearerToken(fromFile:))
            settings.trustFile = trust
            settings.serverName = serverName
            server = try await ConsoleServer.start(settings)
        } catch let error as ConsoleSetupError {
            throw ToolError.configuration("--\(error)")
        }
        print("{\"console\":\(server.port)}")
        // A pipe is buffered, and its reader is waiting for this line.
        fflush(nil)
        await stop.first()
        try await server.stop()
    }
}
