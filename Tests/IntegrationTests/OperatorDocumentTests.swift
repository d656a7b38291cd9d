import Foundation
import LocalPipeline
import Testing

extension IntegrationTests {
    /// The commands that the pages of Deploy tell operators to type.
    struct OperatorDocumentTests {
        static let pages = [
            "README", "RUN", "LANES", "CHANGES", "OPERATE", "REDIS", "CONFIGURATION", "MONITORING",
            "TROUBLESHOOTING", "RUNBOOK",
        ].map { "Deploy/\($0).md" }

        /// All pages, one after the other.
        static func text() throws -> String {
            try pages.map(documentText).joined(separator: "\n")
        }

        /// Beginnings of the commands that are not run: no container engine, no cluster and no systemd takes part in
        /// the tests, and nothing is installed.
        private static let notRun = [
            "docker compose ", "kubectl ", "helm install ", "sha256sum --check ", "apt install ", "man belfry",
            "systemctl ", "kafka-acls.sh ",
        ]

        /// The commands of all lines that stand indented, in order, without their remarks.
        private static func commands() throws -> [String] {
            var commands: [String] = []
            var goesOn = false
            for line in ShellBlocks(try text()).indented {
                let text = String(line.drop { $0 == " " }).replacing(#/ +# .*$/#, with: "")
                if goesOn, let last = commands.popLast() {
                    commands.append("\(last)\n\(text)")
                } else {
                    commands.append(text)
                }
                goesOn = text.hasSuffix("\\") || (commands.last ?? "").count { $0 == "'" } % 2 == 1
            }
            return commands
        }

        @Test("Typed into a shell, the commands of Deploy do as it says, from the certificates to another layout")
        func commands() async throws {
            try await withPipeline {
                $0.transport = .http2
                // The one that the document names, and no more: an embedded broker keeps little.
                $0.partitions = 4
            } _: { pipeline, _ in
                let session = try Session(pipeline, try Self.commands())
                defer { session.shell.kill() }
                try session.makeOperationsToken()
                try session.moveCursors()
                try session.lookAtConfiguration()
                try session.showCertificatesAndTopics()
                try session.setLevers()
                try session.manageChannels()
                try session.startRoles()
                try session.manageTokens()
                try session.changeTokenKey()
                let forgotten = session.left.filter { left in !Self.notRun.contains { left.hasPrefix($0) } }
                #expect(forgotten.isEmpty, "neither run nor named as not run")
                #expect(try session.shell.leave() == 0)
            }
        }
    }
}

/// One operator at a shell beside a pipeline.
private final class Session {
    let shell: DocumentShell
    let redisPort: String
    /// Commands that were not typed yet.
    private(set) var left: [String]
    private var typed: [String] = []
    /// Words of the document, and those of this pipeline.
    private var words: [(String, String)]
    private let registered: String
    private let replaced: String
    private let replacing: String

    init(_ pipeline: LocalPipeline, _ commands: [String]) throws {
        left = commands
        let port = try #require(URL(string: pipeline.redisURL)?.port)
        redisPort = "\(port)"
        let tokens = try pipeline.tokens(of: news, first: 0, count: 3).map { token in
            token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        (registered, replaced, replacing) = (tokens[0], tokens[1], tokens[2])
        words = [
            ("--token HEX", "--token \(tokens[0])"), ("--replaces OLD", "--replaces \(tokens[1])"),
            ("--token NEW", "--token \(tokens[2])"), ("redis-cli", "redis-cli -p \(port)"),
            ("--partitions 48 --replication 3", "--partitions 4 --replication 1"),
            ("--offset 120000", "--offset 3"), ("--cursor 118000", "--cursor 1"),
        ]
        shell = try DocumentShell(
            directory: pipeline.directory,
            programs: URL(filePath: try belfryExecutable()).deletingLastPathComponent().path,
            environment: ["BELFRY_KAFKA_BROKERS": pipeline.brokers]
        )
        try shell.paste("echo \(tokens[0]) > asked-for.txt; printf '%s\\n' \(tokens[0]) \(tokens[1]) > tokens.csv")
    }

    /// Types the next command that begins so, and returns the lines that it printed.
    ///
    /// - Parameters:
    ///   - before: stands before it, and `behind` behind it.
    ///   - again: it was typed before.
    @discardableResult
    private func type(
        _ beginning: String,
        before: String = "",
        behind: String = "",
        again: Bool = false
    ) throws -> [String] {
        let source = again ? typed : left
        let index = try #require(
            source.firstIndex { $0.replacing(#/ +/#, with: " ").hasPrefix(beginning) },
            "\(beginning) is not in the document"
        )
        let command = source[index]
        if !again { typed.append(left.remove(at: index)) }
        return try shell.paste(before + words.reduce(command) { $0.replacing($1.0, with: $1.1) } + behind)
    }

    /// The secret of the operations ports, which no other user can read.
    func makeOperationsToken() throws {
        try type("(umask 027; openssl rand")
        #expect(try shell.paste("wc -c < operations-token; stat -c %A operations-token") == ["65", "-rw-r-----"])
    }

    /// Before a worker was there: after that the embedded broker takes no commit but the group's.
    func moveCursors() throws {
        try shell.paste(
            """
            for number in 1 2 3; do
                echo "$number" | kcat -P -b "$BELFRY_KAFKA_BROKERS" -t push.requests -p 3 -k \(news)
            done
            """
        )
        #expect(try type("belfry offsets show").contains("push.requests[3]: nothing committed, log 0...3"))
        try type("belfry offsets set", before: "yes | ")
        try type("belfry offsets set", before: "yes | ")
        let shown = try type("belfry offsets show", again: true)
        #expect(shown.contains("push.requests[3]: committed 3, log 0...3"))
        #expect(shown.contains("  \(news): cursor 1, 2 records to the end, 0 done runs"))
    }

    func lookAtConfiguration() throws {
        let checks = try [type("belfry config check"), type("belfry config check")]
        #expect(checks.joined().allSatisfy { $0.hasPrefix("good: ") || $0.hasPrefix("note: ") }, "\(checks)")
        // The second one tries the servers.
        for server in ["kafka.brokers", "redis.url", "environments.sandbox.gateways"] {
            #expect(checks[1].contains { $0.hasPrefix("good: \(server): ") }, "\(checks[1])")
        }
        #expect(try type("belfry config show").contains { $0.hasPrefix("worker.shards: ") })
        try type("belfry config schema")
        #expect(try shell.paste("head -c 1 belfry.schema.json") == ["{"])
    }

    func showCertificatesAndTopics() throws {
        let certificates = try type("belfry certificates check")
        #expect(certificates.contains { $0.contains("\(news) (development), valid, ") }, "\(certificates)")
        #expect(try type("belfry topics create").contains("push.requests: 4 partitions, exists"))
    }

    func setLevers() throws {
        #expect(try type("belfry apps pause").first == "\(news) in sandbox: paused")
        let discarded = try type("belfry apps discard")
        // Four in each lane.
        let told = ", for requests that lie in 12 partitions now; publishers' clocks may be 5 minutes ahead"
        #expect(discarded.contains { $0.hasSuffix(told) }, "\(discarded)")
        let levers = try type("belfry apps levers")
        #expect(levers.count == 4 && levers.allSatisfy { $0.contains("  \(news)  sandbox  ") }, "\(levers)")
        #expect(levers.contains { $0.hasSuffix("  sandbox  paused  the wrong text") }, "\(levers)")
        #expect(try type("belfry apps resume").first == "\(news) in sandbox: not paused")
        #expect(try type("belfry apps pace").first == "\(news) in sandbox: at most 500/s")
        #expect(try type("belfry apps pace").first == "\(news) in sandbox: no pace")
        #expect(try type("belfry apps pause").first == "\(news) in sandbox: paused in lane bulk")
        #expect(try type("belfry apps levers", again: true).count == 4)
    }

    func manageChannels() throws {
        let created = try type("belfry channels create")
        let channel = try #require(created.first)
        #expect(try type("belfry channels list") == [channel])
        words.append(("--channel dHN0LXNyY2gtY2hubA==", "--channel '\(channel)'"))
        #expect(try type("belfry channels delete") == [channel])
        #expect(try type("belfry channels list", again: true) == [])
    }

    func startRoles() throws {
        for role in ["worker", "registrar", "harvester"] {
            try type("belfry \(role) --config", behind: " 2> typed-\(role).log &")
        }
    }

    func manageTokens() throws {
        try type("belfry register --app \(news) --file")
        try type("belfry register --app \(news) --token NEW --replaces OLD")
        try type("belfry register --app \(news) --token HEX --describe")
        let show = "belfry tokens show --config belfry.yaml --app \(news) --token"
        try shell.paste("until \(show) \(registered) | grep -q pt-BR; do sleep 0.1; done 2> /dev/null")
        try shell.paste("until \(show) \(replacing); do sleep 0.1; done > /dev/null 2>&1")
        let shown = try type("belfry tokens show")
        let document = try IntegrationTests.OperatorDocumentTests.text()
        #expect(shown.first == "state: alive")
        for line in shown { #expect(document.contains("\n\(line.prefix { $0 != ":" }):"), "\(line)") }
        // In the second of its registration a token stays alive.
        #expect(try type("belfry tokens list").allSatisfy { $0 == replaced })
        try type("belfry tokens export")
        let forgotten = try type("belfry tokens forget")
        #expect(forgotten == ["forgot 1 token of \(news) in sandbox; something was known of 1"])
    }

    /// As the document leads from one key of the tokens' places to another.
    func changeTokenKey() throws {
        let stop = "kill $(jobs -p); wait"
        try shell.paste(stop)
        try type("belfry tokens export")
        try type("jq -r")
        #expect(try shell.paste("grep -c . tokens.csv") != ["0"])
        let times = try shell.paste("grep \(replacing) tokens.csv")
        try type("redis-cli --scan")
        try type("redis-cli del k:tokens")
        #expect(try shell.paste("redis-cli -p \(redisPort) --scan --pattern '[ktn]*'") == [])
        try type("belfry registrar --config", behind: " 2> typed-registrar.log &", again: true)
        try type("belfry register --config")
        let show = "belfry tokens show --config belfry.yaml --app \(news) --token \(replacing)"
        try shell.paste("until \(show); do sleep 0.1; done > /dev/null 2>&1")
        let time = try #require(times.first?.split(separator: ",").dropFirst().first)
        #expect(try shell.paste(show).contains("registered at: \(time)"))
        #expect(try !shell.paste("redis-cli -p \(redisPort) --scan --pattern 't3:*'").isEmpty)
        try shell.paste(stop)
    }
}
