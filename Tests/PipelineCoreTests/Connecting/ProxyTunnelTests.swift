import TestSupport
import Testing

@testable import PipelineCore

/// The exchange with a proxy: what its answer means, in pieces of any size.
@Suite struct ProxyTunnelTests {
    private typealias Machine = ProxyTunnelStateMachine

    /// The last decision about an answer, in pieces of these sizes; the rest comes in one piece.
    private static func decide(_ bytes: [UInt8], pieces: [Int] = []) -> Machine.Action {
        var machine = Machine()
        var decision = Machine.Action.wait
        var rest = bytes[...]
        for size in pieces + [bytes.count] where !rest.isEmpty {
            let action = machine.received(rest.prefix(size))
            if action != .wait { decision = action }
            rest = rest.dropFirst(size)
        }
        return decision
    }

    private static func decide(_ text: String) -> Machine.Action { decide(Array(text.utf8)) }

    private static let ok = "HTTP/1.1 200 Connection established\r\nVia: a\r\n\r\n"

    @Test("A tunnel is asked for by the peer's name and port, and with a login only if there is one")
    func request() {
        #expect(
            Machine.request(to: "api.example:443", authorization: nil)
                == "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n"
        )
        #expect(
            Machine.request(to: "[::1]:2195", authorization: "Basic YTpi")
                == "CONNECT [::1]:2195 HTTP/1.1\r\nHost: [::1]:2195\r\nProxy-Authorization: Basic YTpi\r\n\r\n"
        )
    }

    @Test("Each status 2xx opens the tunnel with its blank line and not before, for any length it gives")
    func opens() {
        #expect(Self.decide(Self.ok) == .open)
        #expect(Self.decide(String(Self.ok.dropLast())) == .wait)
        #expect(Self.decide("HTTP/1.0 200\r\n\r\n") == .open)
        #expect(Self.decide("HTTP/1.1 204 \n\n") == .open)
        #expect(Self.decide("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n") == .open)
    }

    @Test("A head that informs is followed by another one; one that changes the protocol is a refusal")
    func informs() {
        #expect(Self.decide("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 On my way\r\nA: b\r\n\r\n") == .wait)
        #expect(Self.decide("HTTP/1.1 100 Continue\r\n\r\n" + Self.ok) == .open)
        #expect(Self.decide("HTTP/1.1 101 Switching\r\n\r\n") == .fail(.refused(status: 101)))
    }

    @Test("Another status is told, and what follows it counts for nothing", arguments: [302, 400, 403, 502, 503, 999])
    func refuses(status: Int) {
        let answer = "HTTP/1.1 \(status) No\r\nContent-Length: 3\r\n\r\nno\n" + Self.ok
        #expect(Self.decide(answer) == .fail(.refused(status: status)))
    }

    @Test("A refused login is told with the schemes that the proxy names, and no more than a few of them")
    func login() {
        #expect(Self.decide("HTTP/1.1 407 No\r\n\r\n") == .fail(.loginRefused(status: 407, schemes: [])))
        let two = "HTTP/1.1 407 No\r\nPROXY-authenticate: \tBasic realm=\"a\"\r\nProxy-Authenticate:NTLM\r\n"
        #expect(Self.decide(two + "\r\n") == .fail(.loginRefused(status: 407, schemes: ["basic", "ntlm"])))
        #expect(Self.decide(two + two + "\r\n") == .fail(.loginRefused(status: 407, schemes: ["basic", "ntlm"])))
        #expect(
            Self.decide("HTTP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"Tinyproxy\"\r\n\r\n")
                == .fail(.loginRefused(status: 401, schemes: ["basic"]))
        )
        let odd = ["\u{1B}[2J", String(repeating: "x", count: 21), ""] + (1...9).map { "s\($0)" }
        let many = odd.map { "Proxy-Authenticate: \($0)\r\n" }.joined()
        let four = Machine.Failure.loginRefused(status: 407, schemes: ["s1", "s2", "s3", "s4"])
        #expect(Self.decide("HTTP/1.1 407 No\r\n\(many)\r\n") == .fail(four))
        #expect(Self.decide("HTTP/1.1 403 No\r\n\(many)\r\n") == .fail(.refused(status: 403)))
    }

    @Test(
        "An answer that is not that of an HTTP/1 proxy is found at its first wrong byte, however long it goes on",
        arguments: [
            "SSH-2.0", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/2 200", "HTTQ", "HTTP/1x", "\u{16}\u{3}\u{1}", "HTTP/1.1\n",
            "HTTP/1.x 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1  200 OK\r\n",
            "HTTP/1.1 099 OK\r\n", "HTTP/1.10 200 OK\r\n", "HTTP/1.1 +20 OK\r\n",
        ]
    )
    func nonsense(answer: String) {
        #expect(Self.decide(answer) == .fail(.notHTTP))
    }

    @Test("The heads of an answer have 16 KiB together and not a byte more")
    func limit() {
        func answer(ofBytes count: Int) -> [UInt8] {
            let around = "HTTP/1.1 200 OK\r\nA: \r\n\r\n"
            let filling = String(repeating: "x", count: count - around.utf8.count)
            return Array("HTTP/1.1 200 OK\r\nA: \(filling)\r\n\r\n".utf8)
        }
        #expect(Machine.headBytes == 16_384)
        #expect(Self.decide(answer(ofBytes: 16_384)) == .open)
        #expect(Self.decide(answer(ofBytes: 16_385)) == .fail(.headTooLong))
        let informing = Array(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000).utf8)
        #expect(Self.decide(informing) == .fail(.headTooLong))
        let line = Array("HTTP/1.1 200 \(String(repeating: "x", count: 20_000))".utf8)
        #expect(Self.decide(line) == .fail(.headTooLong))
    }

    @Test("A byte between the answer and our first word is the proxy's own, and fails a tunnel that was open")
    func spokeFirst() {
        #expect(Self.decide(Self.ok + "x") == .fail(.spokeFirst))
        var machine = Machine()
        #expect(machine.received(Self.ok.utf8) == .open)
        #expect(machine.received([UInt8]()) == .wait, "open is said once")
        #expect(machine.received([0 as UInt8]) == .fail(.spokeFirst))
    }

    @Test("An end or a silence before the answer's end is told, once, and nothing that comes later changes it")
    func ends() {
        for text in ["", "HTTP/1.1 20", String(Self.ok.dropLast())] {
            var closed = Machine()
            #expect(closed.received(text.utf8) == .wait)
            #expect(closed.ended() == .fail(.closed))
            #expect(closed.ended() == .wait && closed.timedOut() == .wait && closed.received(Self.ok.utf8) == .wait)
            var silent = Machine()
            #expect(silent.received(text.utf8) == .wait)
            #expect(silent.timedOut() == .fail(.silent))
            #expect(silent.ended() == .wait && silent.received(Self.ok.utf8) == .wait)
        }
        var open = Machine()
        #expect(open.received(Self.ok.utf8) == .open)
        #expect(open.timedOut() == .wait, "the answer has come")
        #expect(open.ended() == .fail(.closed))
    }

    @Test(
        "Answers, broken and whole, mean the same in pieces of any size as in one",
        arguments: 0..<200 as Range<UInt64>
    )
    func pieces(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let answers = [
            Self.ok, Self.ok + "\u{15}", "HTTP/1.1 100 Continue\r\n\r\n" + Self.ok,
            "HTTP/1.1 502 Bad\r\nA: b\r\n\r\nbody",
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=x\r\nProxy-Authenticate: Basic\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 17_000))\r\n\r\n", "HTTP/1.0 200\n\n",
        ]
        var bytes = Array(answers[random.pick(0...(answers.count - 1))].utf8)
        for _ in 0..<random.pick(0...3) where random.chance(50) {
            let place = random.pick(0...(min(bytes.count, 60) - 1))
            bytes[place] = random.chance(50) ? random.bytes(1)[0] : UInt8(ascii: "\n")
        }
        let whole = Self.decide(bytes)
        #expect(Self.decide(bytes, pieces: Array(repeating: 1, count: bytes.count)) == whole)
        for _ in 0..<20 {
            let pieces = (0..<random.pick(0...20)).map { _ in random.pick(1...40) }
            #expect(Self.decide(bytes, pieces: pieces) == whole, "\(pieces)")
        }
    }

    @Test("Bytes of any kind lead to one decision at most, but for a word behind an open tunnel")
    func anything() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            var machine = Machine()
            var decisions: [Machine.Action] = []
            if random.chance(70) { decisions.append(machine.received("HTTP/1.1 ".utf8)) }
            for _ in 0..<random.pick(1...60) {
                let bytes = random.chance(50) ? random.bytes(random.pick(0...300)) : Array("200 \r\n\r\n".utf8)
                decisions.append(machine.received(bytes))
            }
            decisions.append(machine.ended())
            let told = decisions.filter { $0 != .wait }
            #expect((1...2).contains(told.count) && (told.count == 1 || told[0] == .open), "\(told)")
        }
    }
}
