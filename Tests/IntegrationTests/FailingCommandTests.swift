import Foundation
import Testing
import Workbench

extension IntegrationTests {
    /// Commands that cannot do what they were asked for.
    struct FailingCommandTests {
        /// The words behind `belfry`; `DIR` in them stands for a directory with a sandbox's PKI in `DIR/pki`.
        struct Command: CustomStringConvertible {
            var words: [String]
            /// Words that standard error must have.
            var named: String
            /// The exit codes that may be.
            var codes: Set<Int32>

            init(_ line: String, names named: String, exits codes: Set<Int32> = [1, 64, 78]) {
                words = line.split(separator: " ").map(String.init)
                self.named = named
                self.codes = codes
            }

            /// It ends when its patience with a server does.
            var asksNobody: Bool { words.contains(nobody) || named.contains(nobody) }

            var description: String { words.joined(separator: " ") }
        }

        private static let nobody = "127.0.0.1:1"
        private static let noBroker = "broker \(nobody) unreachable"
        private static let noService = "\(nobody): cannot connect"
        private static let noRedis = "not sent: Redis at \(nobody): cannot connect"
        /// The command that writes what the directory of the sandbox lacks.
        private static let certificates = "belfry sandbox certificates --pki DIR/none --topics"
        private static let hex = String(repeating: "ab", count: 32)

        static let commands = [
            // Roles.
            Command("worker", names: "environments"),
            Command("worker --config DIR/none.yaml", names: "none.yaml"),
            Command("worker --config DIR/broken.yaml", names: "broken.yaml"),
            Command("worker --config DIR/bare.yaml", names: "holds no certificate"),
            Command("registrar --config DIR/none.yaml", names: "none.yaml"),
            Command("registrar --config DIR/broken.yaml", names: "broken.yaml"),
            Command("harvester --config DIR/none.yaml", names: "none.yaml"),
            Command("harvester --config DIR/untrusting.yaml", names: "none.pem"),
            // Tools.
            Command("publish --app a --token \(hex)", names: "--payload"),
            Command("publish --app a --token \(hex) --payload-file DIR/none", names: "DIR/none"),
            Command("publish --app a --token \(hex) --notification DIR/none", names: "DIR/none"),
            Command("publish --app a --token \(hex) --notification {\"titel\":1}", names: "'titel' is no field"),
            Command("publish --app a --token \(hex) --notification {} --payload {}", names: "--notification"),
            Command("publish --app a --token \(hex) --payload-file DIR", names: "DIR: is a directory"),
            Command("publish --app a --token-file DIR/none --payload {}", names: "DIR/none"),
            Command("publish --app a --token zz --payload {}", names: "token"),
            Command("publish --app a --token \(hex) --payload {} --config DIR/none.yaml", names: "none.yaml"),
            Command("publish --brokers \(nobody) --app a --token \(hex) --payload {\"aps\":{}}", names: nobody),
            Command("publish --app a --token \(hex) --payload {} --rate 0", names: "--rate"),
            Command("publish --app a --token \(hex) --payload {} --wait --report failures", names: "--report"),
            Command("publish --app a --token \(hex) --payload {} --checkpoint DIR/c", names: "--token-file"),
            Command("publish --app a --token \(hex) --payload {} --dry-run --wait", names: "--dry-run"),
            Command("publish --app a --token \(hex) --payload {} --token-format words", names: "--token-format"),
            Command("publish --app a --token \(hex) --payload {} --lane slow", names: "--lane"),
            Command("publish --brokers \(nobody) --app a --token \(hex) --payload [] --dry-run", names: "payload"),
            Command("register --app a --token-file DIR/none", names: "DIR/none"),
            Command("register --app a --file DIR/none", names: "DIR/none"),
            Command("register --app a --token \(hex) --config DIR/none.yaml", names: "none.yaml"),
            Command("register --brokers \(nobody) --app a --token \(hex)", names: noBroker, exits: [1]),
            Command("outcomes --count 0", names: "--count"),
            Command("outcomes --brokers a:b:c", names: "brokers"),
            Command("outcomes --config DIR/none.yaml", names: "none.yaml"),
            Command("outcomes --since tomorrow", names: "--since"),
            Command("outcomes --kind lost", names: "--kind"),
            Command("dead-letters list --reason none", names: "--reason"),
            Command("dead-letters list --limit 0", names: "--limit"),
            Command("dead-letters list --brokers \(nobody)", names: nobody),
            Command("dead-letters show 17", names: "partition@offset"),
            Command("dead-letters show 2@17 --config DIR/none.yaml", names: "none.yaml"),
            Command("dead-letters explain none", names: "none"),
            Command("dead-letters replay --rate 0", names: "--rate"),
            Command("dead-letters replay --brokers \(nobody)", names: nobody),
            Command("topics create --partitions 0", names: "--partitions"),
            Command("topics create --config DIR/none.yaml", names: "none.yaml"),
            Command("apps pause a", names: "environments"),
            Command("apps pause a/b --config DIR/bare.yaml", names: "app: "),
            Command("apps pause a --config DIR/bare.yaml", names: noBroker, exits: [1]),
            Command("apps pause a --config DIR/bare.yaml --lane slow", names: "--lane"),
            Command("apps resume a --config DIR/bare.yaml --environment no", names: "environment: "),
            Command("apps pace a --config DIR/bare.yaml", names: "--rate"),
            Command("apps pace a --config DIR/bare.yaml --rate 0", names: "--rate"),
            Command("apps pace a --config DIR/bare.yaml --off --reason b", names: "--reason"),
            Command("apps discard a --config DIR/bare.yaml", names: "--before"),
            Command("apps discard a --config DIR/bare.yaml --before soon", names: "--before"),
            Command("apps discard a --config DIR/bare.yaml --before 2100-01-01T00:00:00Z", names: "in the future"),
            Command("apps discard a --config DIR/bare.yaml --before now", names: noBroker, exits: [1]),
            Command("apps levers --brokers \(nobody)", names: noBroker, exits: [1]),
            Command("tokens show --app a --token \(hex)", names: "environments"),
            Command("tokens show --config DIR/bare.yaml --app a --token zz", names: "token"),
            Command("tokens show --config DIR/bare.yaml --app a --token \(hex)", names: noRedis, exits: [1]),
            Command("tokens list --config DIR/bare.yaml --app a --limit 0", names: "--limit"),
            Command("tokens list --config DIR/bare.yaml --app a --environment no", names: "--environment"),
            Command("tokens list --config DIR/bare.yaml --app a", names: noRedis, exits: [1]),
            Command("tokens export --app a --config DIR/none.yaml", names: "none.yaml"),
            Command("tokens export --config DIR/bare.yaml --app a", names: noRedis, exits: [1]),
            Command("tokens forget --config DIR/bare.yaml --app a --token-file DIR/none", names: "DIR/none"),
            Command("tokens forget --config DIR/bare.yaml --app a --token \(hex)", names: noBroker, exits: [1]),
            Command("offsets show --config DIR/none.yaml", names: "none.yaml"),
            Command("offsets show --brokers \(nobody)", names: nobody),
            Command("offsets set --partition 0", names: "--offset"),
            Command("offsets set --brokers \(nobody) --partition 0 --offset end", names: noBroker, exits: [1]),
            Command("channels create --app a --config DIR/none.yaml", names: "none.yaml"),
            Command("channels list --app a", names: "environments"),
            Command("channels list --app a --config DIR/channels.yaml", names: noService, exits: [1]),
            Command("channels delete --app a --config DIR/none.yaml", names: "--channel"),
            Command("certificates check DIR/none", names: "DIR/none"),
            Command("certificates check DIR/bare", names: "holds no push certificate"),
            Command("certificates check DIR/server", names: "DIR/server: holds no push certificate", exits: [1]),
            Command(
                "certificates check DIR/locked",
                names: "DIR/locked/a.p12: its passphrase is missing: a.passphrase",
                exits: [1]
            ),
            Command("certificates check --config DIR/none.yaml", names: "none.yaml"),
            Command("certificates check --config DIR/bare.yaml", names: "holds no push certificate"),
            Command("config show --config DIR/none.yaml", names: "none.yaml"),
            Command("config schema --draft 7", names: "--draft"),
            Command("config keys --into DIR/none.md", names: "DIR/none.md"),
            Command("config keys --into DIR/bare.yaml", names: "<!-- begin: keys -->"),
            Command("config check --config DIR/broken.yaml", names: "1 fault", exits: [1]),
            Command("config check --config DIR/bare.yaml", names: "1 fault", exits: [1]),
            Command("plan --rate 0 --tokens 1 --apps 1", names: "--rate"),
            Command("console", names: "--scrape"),
            Command("console --scrape a:b:c", names: "--scrape"),
            Command("console --scrape \(nobody) --port 0 --bearer-token-file DIR/none", names: "DIR/none"),
            // Trying out.
            Command("demo --notifications 1", names: "--notifications"),
            Command("demo --transport carrier-pigeon", names: "carrier-pigeon"),
            Command("broker --partitions 0", names: "--partitions"),
            Command("sandbox serve --pki DIR/none --topics a --devices 1", names: certificates),
            Command("sandbox serve --pki DIR/pki --topics a --devices 0", names: "devices"),
            Command("sandbox serve --pki DIR/pki --topics a --devices 1 --faults DIR/none", names: "DIR/none"),
            Command("sandbox serve --pki DIR/pki --topics a --devices 1 --revoked DIR/none", names: "DIR/none"),
            Command("sandbox serve --pki DIR/pki --topics a --devices 1 --listen no.invalid", names: "no.invalid"),
            Command("sandbox certificates --pki DIR/broken.yaml/pki --topics a", names: "broken.yaml"),
            Command("sandbox tokens --pki DIR/none --topic a --count 1", names: certificates),
            Command("sandbox accepted DIR/none", names: "DIR/none"),
            Command("sandbox accepted DIR/broken.yaml", names: "broken.yaml"),
            Command("sandbox device --pki DIR/none --device 1 --topic a", names: certificates),
            Command("sandbox revoke --pki DIR/none --topic a", names: certificates),
            // No such command.
            Command("nonsense", names: "belfry has no command 'nonsense': belfry --help lists them", exits: [64]),
            Command("pubish --app a", names: "did you mean belfry publish?", exits: [64]),
            Command("apps levrs", names: "did you mean belfry apps levers?", exits: [64]),
        ]

        @Test("A command that fails says why on standard error, and its exit code says so")
        func failing() throws {
            let directory = try Self.directory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            // A command that asks a server that is not there gives up after seconds: those begin before the others.
            let patient = try Self.commands.filter(\.asksNobody).map { command in
                (command, try Self.start(command.words, in: directory))
            }
            defer { for (_, process) in patient { process.kill() } }
            for command in Self.commands where !command.asksNobody {
                let process = try Self.start(command.words, in: directory)
                defer { process.kill() }
                expect(command, failsAs: process, in: directory)
            }
            for (command, process) in patient { expect(command, failsAs: process, in: directory) }
        }

        private func expect(_ command: Command, failsAs process: ChildProcess, in directory: String) {
            let code = try? process.wait(within: patience)
            let end = "\(command): \(code.map { "\($0)" } ?? "no end"): \(process.log)"
            #expect(code.map(command.codes.contains) == true, "\(end)")
            #expect(process.log.contains(command.named.replacing("DIR", with: directory)), "\(end)")
            #expect(!process.log.contains("Fatal error"), "\(end)")
        }

        @Test("A directory with a server's certificate alone is not usable, and a line tells that it names no topic")
        func serverCertificate() throws {
            let directory = try Self.directory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let process = try Self.start(["certificates", "check", "DIR/server"], in: directory)
            defer { process.kill() }
            let line = try process.nextLine(within: patience)
            #expect(line.hasPrefix("\(directory)/server/server.pem: passed over, "), "\(line)")
            #expect(line.contains("names no topic"), "\(line)")
            #expect(try process.wait(within: patience) == 1)
        }

        @Test("A port that is taken is told in plain words, by every command that listens")
        func takenPort() throws {
            let directory = try Self.directory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let occupant = try Self.start(["broker", "--port", "0"], in: directory)
            defer { occupant.kill() }
            let line = try occupant.nextLine(within: patience)
            let port = String(try #require(line.split(separator: ":").last).filter(\.isNumber))
            let ports = "--gateway-port 0 --feedback-port 0"
            let sandbox = "sandbox serve --pki DIR/pki --topics a --devices 1 \(ports) --api-port"
            for words in [
                "broker --port \(port)",
                "\(sandbox) 0 --device-port 0 --control-port \(port)",
                "\(sandbox) 0 --device-port \(port) --control-port 0",
                "\(sandbox) \(port) --device-port 0 --control-port 0",
                "console --scrape \(Self.nobody) --port \(port)",
            ] {
                let process = try Self.start(words.split(separator: " ").map(String.init), in: directory)
                defer { process.kill() }
                #expect(try process.wait(within: patience) == 1, "\(words)")
                let problem = "cannot listen on 127.0.0.1:\(port): the port is taken by another process; --"
                #expect(process.log.contains(problem), "\(process.log)")
            }
        }

        @Test("Every command that there is fails somewhere above")
        func complete() throws {
            let commands = try ProgramCommand.all()
            #expect(commands.count >= 20, "\(commands.map(\.name))")
            for command in commands {
                #expect(Self.commands.contains { $0.words.starts(with: command.words) }, "\(command.name)")
            }
        }

        private static func start(_ words: [String], in directory: String) throws -> ChildProcess {
            try ChildProcess(
                words.prefix(2).joined(separator: " "),
                executable: try belfryExecutable(),
                arguments: words.map { $0.replacing("DIR", with: directory) },
                logFile: "\(directory)/\(UUID().uuidString).log",
                leadsGroup: true
            )
        }

        /// A directory with configurations that are wrong, or name servers that are not there, a PKI, and in `server`
        /// the certificate of its server alone, in `locked` a container alone.
        private static func directory() throws -> String {
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: "\(directory)/bare", withIntermediateDirectories: true)
            // A command whose time is over before the first attempt to connect is cannot say why.
            let redis = "redis: {url: 'redis://\(nobody)', command-timeout: 2s, connect-timeout: 100ms}"
            let files = [
                "broken.yaml": "worker: [",
                "bare.yaml": "environments: {sandbox: {gateways: a}}\ncertificates: {directory: bare}\n\(redis)\n"
                    + "kafka: {brokers: '\(nobody)'}\n",
                "channels.yaml": "environments: {sandbox: {gateways: a, transport: http2, channels: '\(nobody)', "
                    + "trust: pki/ca.pem}}\ncertificates: {directory: pki}\n\(redis)\n",
                "untrusting.yaml": "environments: {sandbox: {gateways: a, feedback: a, trust: none.pem}}\n"
                    + "certificates: {directory: pki}\n\(redis)\n",
            ]
            for (name, text) in files {
                try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
            }
            let words = ["sandbox", "certificates", "--pki", "DIR/pki", "--topics", "a"]
            let certificates = try start(words, in: directory)
            guard try certificates.wait(within: patience) == 0 else {
                throw ChildProcess.Failure(description: certificates.log)
            }
            for (folder, file) in [("server", "server.pem"), ("locked", "a.p12")] {
                let place = "\(directory)/\(folder)"
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                try FileManager.default.copyItem(atPath: "\(directory)/pki/\(file)", toPath: "\(place)/\(file)")
            }
            return directory
        }
    }
}
