import BelfrySupport
import PipelineCore
import Testing

@testable import Console

/// The processes to look at, and when.
struct TargetTests {
    private let start = MonotonicTime(nanoseconds: 0)
    private let name = HostPort(host: "workers", port: 9464)

    private func addresses(_ hosts: String...) -> [HostPort] { hosts.map { HostPort(host: $0, port: 9464) } }

    private func list(_ text: String) throws(ConsoleSetupError) -> [ScrapeTarget] {
        try ScrapeTarget.list(parsing: text)
    }

    @Test("Entries are addresses, and names after dns, each once")
    func parsing() throws {
        let targets = try list("a:1, [::1]:2,dns:workers:9464,,a:1")
        let expected: [ScrapeTarget] = [
            .process(HostPort(host: "a", port: 1)), .process(HostPort(host: "::1", port: 2)), .name(name),
        ]
        #expect(targets == expected)
        #expect(targets.map(\.description) == ["a:1", "[::1]:2", "dns:workers:9464"])
    }

    @Test(
        "What is no entry is told",
        arguments: ["", " , ", "a", "a:0", "a:70000", "dns:a", "dns:", "http://a:1", "a:1,b", "a b:1"]
    )
    func wrong(text: String) {
        #expect(throws: ConsoleSetupError.self) { try ScrapeTarget.list(parsing: text) }
    }

    @Test("More entries than the limit are refused")
    func tooMany() {
        let text = (1...ConsoleLimits.targets + 1).map { "a:\($0)" }.joined(separator: ",")
        #expect(throws: ConsoleSetupError.self) { try ScrapeTarget.list(parsing: text) }
    }

    @Test("A name is resolved at once, again five seconds after its answer, and once at a time")
    func schedule() throws {
        var targets = TargetList(try list("dns:workers:9464"))
        #expect(targets.takeDueNames(now: start) == [name])
        #expect(targets.takeDueNames(now: start + .seconds(60)) == [])
        targets.resolved(name, .success(addresses("10.0.0.1")), now: start + .seconds(60))
        #expect(targets.takeDueNames(now: start + .seconds(64)) == [])
        #expect(targets.takeDueNames(now: start + .seconds(65)) == [name])
    }

    @Test("Addresses come and go with the name's answers; without one the former stay, with the reason")
    func changes() throws {
        var targets = TargetList(try list("a:1,dns:workers:9464"))
        let fixed = [HostPort(host: "a", port: 1)]
        #expect(targets.processes == fixed)
        targets.resolved(name, .success(addresses("10.0.0.2", "10.0.0.1")), now: start)
        #expect(targets.processes == fixed + addresses("10.0.0.1", "10.0.0.2"))
        targets.resolved(name, .success(addresses("10.0.0.3", "10.0.0.1")), now: start)
        #expect(targets.processes == fixed + addresses("10.0.0.1", "10.0.0.3") && targets.troubles == [])
        targets.resolved(name, .failure(LookupTrouble(description: "no such name")), now: start)
        #expect(targets.processes.count == 3 && targets.troubles == ["dns:workers:9464: no such name"])
        targets.resolved(name, .success(addresses("10.0.0.1")), now: start)
        #expect(targets.troubles == [])
    }

    @Test("A process that is named twice is one, and no more are looked at than the limit")
    func bounds() throws {
        var targets = TargetList(try list("10.0.0.1:9464,dns:workers:9464"))
        targets.resolved(name, .success(addresses("10.0.0.1")), now: start)
        #expect(targets.processes == addresses("10.0.0.1"))
        let many = (0..<5000).map { HostPort(host: "10.1.\($0 / 256).\($0 % 256)", port: 9464) }
        targets.resolved(name, .success(many), now: start)
        #expect(targets.processes.count == ConsoleLimits.processes)
    }

    @Test("The system resolves names to addresses, and says why when it cannot")
    func lookup() throws {
        let found = try AddressLookup.addresses(of: HostPort(host: "127.0.0.1", port: 7)).get()
        #expect(found == [HostPort(host: "127.0.0.1", port: 7)])
        let missing = AddressLookup.addresses(of: HostPort(host: "no_such.invalid", port: 7))
        #expect(throws: LookupTrouble.self) { try missing.get() }
    }

    @Test("A process is asked once at a time")
    func onceAtATime() {
        var turn = ScrapeTurn()
        let both = addresses("a", "b")
        #expect(Set(turn.take(of: both)) == Set(both))
        #expect(turn.take(of: both) == [])
        turn.ended(both[1])
        #expect(turn.take(of: both) == [both[1]])
        #expect(turn.take(of: []) == [])
    }

    @Test("When there are too many to be asked at once, all come in turn")
    func inTurn() {
        var turn = ScrapeTurn()
        let many = (0..<250).map { HostPort(host: "h", port: $0 + 1) }
        var asked: [HostPort] = []
        for _ in 0..<5 {
            let chosen = turn.take(of: many)
            #expect(chosen.count == ConsoleLimits.scrapesAtOnce)
            asked += chosen
            for process in chosen { turn.ended(process) }
        }
        #expect(Set(asked.prefix(250)).count == 250)
        #expect(Dictionary(grouping: asked) { $0 }.values.allSatisfy { $0.count == 2 })
    }
}
