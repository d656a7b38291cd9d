import BelfrySupport
import Foundation
import PageParts
import Testing

@testable import Console

/// The console over the wire: processes that answer well and badly, and the page's port.
@Suite(.timeLimit(.minutes(1)))
struct ConsoleServerTests {
    private func withConsole(
        of port: Int,
        token: String? = nil,
        _ body: (ConsoleServer) async throws -> Void
    ) async throws {
        var configuration = ConsoleConfiguration(targets: [.process(HostPort(host: "127.0.0.1", port: port))])
        configuration.port = 0
        configuration.bearerToken = token
        let server = try await ConsoleServer.start(configuration)
        do {
            try await body(server)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    /// Follows the events of a console that looks at a server of this manner until one has this text.
    private func follow(_ manner: PlayedServer.Manner, until text: String) async throws -> String {
        let played = try await PlayedServer.start(manner)
        var told = ""
        try await withConsole(of: played.port) { told = try await ConsoleWire.ask($0.port, "/events", until: text) }
        try await played.channel.close()
        return told
    }

    private func answer(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test("A page is told the history, then the fleet, and the fleet again in every turn")
    func events() async throws {
        let status = #"{"version":2,"role":"worker","isReady":true,"programVersion":"7"}"#
        let told = try await follow(.says(answer(status)), until: #""state":"answers""#)
        #expect(told.contains("content-type: text/event-stream\r\n"))
        let history = try #require(told.firstRange(of: "event: history\n"))
        let fleet = try #require(told.firstRange(of: "event: fleet\n"))
        #expect(history.lowerBound < fleet.lowerBound && told.contains(#""programVersion":"7""#))
    }

    @Test(
        "A process that answers badly is away, in clear words, and does no harm",
        arguments: [
            (PlayedServer.Manner.says("moon\r\n\r\n"), "what it answers is not HTTP"),
            (.says("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"), "/status is answered with HTTP 500"),
            (.says("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"), "it ended the connection before its answer"),
            (.says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"), "its /status lacks version"),
            (.says(""), "it ended the connection before its answer"),
            (.saysAndWaits("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"), "no answer within 3 s"),
        ]
    )
    func bad(manner: PlayedServer.Manner, words: String) async throws {
        let told = try await follow(manner, until: words)
        #expect(told.contains(#""state":"away""#))
    }

    @Test("An answer without end is given up at its limit")
    func endless() async throws {
        let endless = PlayedServer.Manner.goesOn(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "10000\r\n\(String(repeating: "x", count: 65_536))\r\n"
        )
        let told = try await follow(endless, until: "its answer is longer than 4 MiB")
        #expect(told.contains(#""state":"away""#))
    }

    @Test("A process that is not there is told by the system's words")
    func refused() async throws {
        let played = try await PlayedServer.start(.says(""))
        let port = played.port
        try await played.channel.close()
        try await withConsole(of: port) { console in
            let told = try await ConsoleWire.ask(console.port, "/events", until: "connection refused")
            #expect(told.contains(#""state":"away""#))
        }
    }

    @Test("The token is shown to processes, and to no client of the console")
    func token() async throws {
        let played = try await PlayedServer.start(
            .answers(
                line: "authorization: Bearer secret-of-the-fleet",
                answer(#"{"version":2,"role":"worker"}"#),
                otherwise: "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n"
            )
        )
        try await withConsole(of: played.port, token: "secret-of-the-fleet") { console in
            let told = try await ConsoleWire.ask(console.port, "/events", until: #""state":"answers""#)
            #expect(!told.contains("secret-of-the-fleet"))
        }
        try await withConsole(of: played.port) { console in
            let told = try await ConsoleWire.ask(console.port, "/events", until: "is the token right?")
            #expect(told.contains(#""state":"away""#))
        }
        try await played.channel.close()
    }

    @Test("Every file of the page is served, with its type and a policy that forbids everything from elsewhere")
    func files() async throws {
        try await withConsole(of: 1) { console in
            for file in PageFile.console {
                let answer = try await ConsoleWire.ask(console.port, file.path)
                let head = answer.prefix(upTo: try #require(answer.firstRange(of: "\r\n\r\n")).lowerBound).lowercased()
                #expect(head.hasPrefix("http/1.1 200 ok\r\n"), "\(file.path)")
                #expect(head.contains("content-type: \(file.contentType)\r\n"), "\(file.path)")
                let policy = "content-security-policy: default-src 'none'; script-src 'self';"
                #expect(head.contains(policy), "\(file.path)")
            }
        }
    }

    @Test("The page takes nothing from other hosts, and every file that it names exists")
    func selfContained() {
        let paths = Set(PageFile.console.map(\.path))
        #expect(paths.count == PageFile.console.count)
        let runbook = PageFile(path: "/runbook", body: PackageResources.runbook_html)
        for file in PageFile.console + [runbook] {
            let text = String(decoding: file.body, as: UTF8.self)
            let cleaned = text.replacing("http://www.w3.org/2000/svg", with: "")
            for address in ["http://", "https://", "\"//"] { #expect(!cleaned.contains(address), "\(file.path)") }
            for name in text.matches(of: /"(\/page\/[a-z.-]+)"/) {
                #expect(paths.contains(String(name.1)), "\(file.path): \(name.1)")
            }
        }
    }

    @Test("No text of a fleet becomes markup: the page's scripts know no way to make it")
    func noMarkup() {
        for file in PageFile.console where file.path.hasSuffix(".js") {
            let text = String(decoding: file.body, as: UTF8.self)
            for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc"] {
                #expect(!text.contains(way), "\(file.path): \(way)")
            }
        }
    }

    @Test("The runbook is served in pieces, an entry for each alert, as text that is no markup")
    func runbook() async throws {
        try await withConsole(of: 1) { console in
            func body(_ path: String) async throws -> String {
                let answer = try await ConsoleWire.ask(console.port, path)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(path)")
                #expect(answer.lowercased().contains("\r\ncontent-type: text/html; charset=utf-8\r\n"), "\(path)")
                return String(answer[try #require(answer.firstRange(of: "\r\n\r\n")).upperBound...])
            }
            let entry = try await body("/runbook/BelfryDown")
            #expect(entry.contains(">BelfryDown\n") && entry.contains("**Remedy**: start it again"))
            #expect(!entry.contains("BelfryRestarts") && !entry.contains("@TEXT@"))
            #expect(try await body("/runbook").contains("# Runbook\n"))
            func marks(_ page: [UInt8]) -> Int { page.count { $0 == UInt8(ascii: "<") } }
            for path in Runbook.texts.keys {
                let page = try #require(Runbook.page(at: path))
                #expect(marks(page.body) == marks(PackageResources.runbook_html), "\(path)")
            }
            for path in ["/runbook/", "/runbook/Moon", "/runbook/../fleet", "/runbook/belfrydown"] {
                #expect(try await ConsoleWire.ask(console.port, path).hasPrefix("HTTP/1.1 404 "), "\(path)")
            }
        }
    }

    @Test(
        "Nothing can be changed: every method but GET is refused",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]
    )
    func readOnly(method: String) async throws {
        try await withConsole(of: 1) { console in
            for path in ["/", "/fleet", "/events", "/nowhere"] {
                let answer = try await ConsoleWire.ask(console.port, path, method: method)
                #expect(answer.hasPrefix("HTTP/1.1 405 "), "\(path)")
                #expect(answer.lowercased().contains("\r\nallow: get\r\n"), "\(path)")
            }
        }
    }

    @Test("The state is to be had as JSON, other paths are not, and names that are not the port's are refused")
    func paths() async throws {
        try await withConsole(of: 1) { console in
            let fleet = try await ConsoleWire.ask(console.port, "/fleet")
            let body = fleet[try #require(fleet.firstRange(of: "\r\n\r\n")).upperBound...]
            let document = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
            #expect(document?["processes"] is [Any])
            #expect(try await ConsoleWire.ask(console.port, "/livez").hasSuffix("\r\n\r\nalive\n"))
            #expect(try await ConsoleWire.ask(console.port, "/status").hasPrefix("HTTP/1.1 404 "))
            let foreign = try await ConsoleWire.ask(console.port, "/fleet", headers: "host: evil.example\r\n")
            #expect(foreign.hasPrefix("HTTP/1.1 403 "))
        }
    }

    @Test("A port that is taken is told with the option that names another")
    func taken() async throws {
        try await withConsole(of: 1) { console in
            var configuration = ConsoleConfiguration(targets: [.process(HostPort(host: "127.0.0.1", port: 1))])
            configuration.port = console.port
            let error = await #expect(throws: ConsolePortError.self) {
                try await ConsoleServer.start(configuration)
            }
            let expected = "cannot listen on 127.0.0.1:\(console.port): the port is taken by another process; "
            #expect(error?.description == expected + "--port names another port")
        }
    }

    @Test("The token's file holds one line, and nothing that would end the request's line")
    func tokenFile() throws {
        let path = NSTemporaryDirectory() + "belfry-console-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func read(_ content: String) throws -> String {
            try Data(content.utf8).write(to: URL(filePath: path))
            return try ConsoleConfiguration.bearerToken(fromFile: path)
        }
        #expect(try read("abc-._~+/=\n") == "abc-._~+/=")
        for wrong in ["", "\n", "a b", "a\r\nx: y", "ü"] {
            #expect(throws: ConsoleSetupError.self) { try read(wrong) }
        }
        #expect(throws: ConsoleSetupError.self) { try ConsoleConfiguration.bearerToken(fromFile: path + ".not") }
    }
}
