import APNsProtocol
import Testing

@testable import Sandbox

/// The control interface: what it takes, and what it says to what is wrong.
struct ControlTests {
    private static let service: PushService = {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: ["com.example.a"], devices: 10)
        configuration.gatewayPort = 0
        return PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { TopicFixture.now })
    }()

    private func post(_ path: String, _ body: String) -> (status: Int, body: String) {
        let response = ControlAPI(service: Self.service).respond(method: "POST", path: path, body: Array(body.utf8))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    @Test(
        "A wrong /devices request names the field",
        arguments: [
            ("", nil, "the body is not JSON"),
            ("[1]", nil, "the body is an array, a JSON object is expected"),
            ("{}", "topic", "is missing"),
            (#"{"topic":1}"#, "topic", "is 1, a string is expected"),
            (#"{"topic":"com.example.a"}"#, "state", "is missing"),
            (
                #"{"topic":"com.example.a","state":"gone"}"#, "state",
                #"is "gone", one of online, offline, uninstalled, reinstalled, removed, restored, wiped is expected"#
            ),
            (#"{"topic":"com.example.a","state":"online"}"#, "first", "is missing"),
            (#"{"topic":"com.example.a","state":"online","first":0}"#, "count", "is missing"),
            (
                #"{"topic":"com.example.a","state":"online","first":-1,"count":1}"#, "first",
                "is -1, an integer of 0 to 16777214 is expected"
            ),
            (
                #"{"topic":"com.example.a","state":"online","first":0,"count":true}"#, "count",
                "is true, an integer of 1 to 16777215 is expected"
            ),
            (
                #"{"topic":"com.example.a","state":"online","first":5,"count":6}"#, "count",
                #"with "first" reaches device 10, there are 10"#
            ),
            (
                #"{"topic":"com.example.a","state":"online","first":0,"count":1,"x":1}"#, "x",
                "is not a field of this request"
            ),
            (
                #"{"topic":"com.example.z","state":"online","first":0,"count":1}"#, "topic",
                #"is "com.example.z", served are com.example.a"#
            ),
            (
                #"{"topic":"com.example.a","state":"online","tokens":"a"}"#, "tokens",
                #"is "a", an array of strings is expected"#
            ),
            (#"{"topic":"com.example.a","state":"online","tokens":[1]}"#, "tokens[0]", "is 1, a string is expected"),
            (
                #"{"topic":"com.example.a","state":"online","tokens":["abc"]}"#, "tokens[0]",
                "has 3 hexadecimal digits, an odd number"
            ),
            (
                #"{"topic":"com.example.a","state":"online","tokens":["ab"]}"#, "tokens[0]",
                "is not a token of com.example.a"
            ),
        ] as [(String, String?, String)]
    )
    func wrongDevices(body: String, field: String?, message: String) {
        let escaped = message.replacing("\"", with: "\\\"")
        let expected = field.map { #"{"error":"\#(escaped)","field":"\#($0)"}"# } ?? #"{"error":"\#(escaped)"}"#
        #expect(post("/devices", body) == (400, expected))
    }

    @Test(
        "A wrong /faults request names the field",
        arguments: [
            ("{}", "name"), (#"{"name":"flood"}"#, "name"), (#"{"clear":false}"#, "clear"), (#"{"clear":1}"#, "clear"),
            (#"{"name":"answer-delay"}"#, "milliseconds"),
            (#"{"name":"answer-delay","milliseconds":-1}"#, "milliseconds"),
            (#"{"name":"answer-delay","milliseconds":1.5}"#, "milliseconds"), (#"{"name":"close-after"}"#, "count"),
            (#"{"name":"close-after","count":0}"#, "count"), (#"{"name":"shutdown-after","count":"1"}"#, "count"),
            (#"{"name":"error-response","status":256}"#, "status"),
            (#"{"name":"error-response","status":10}"#, "status"),
            (#"{"name":"error-response","every":0}"#, "every"),
            (#"{"name":"error-response","identifierZero":1}"#, "identifierZero"),
            (#"{"name":"close-after","count":1,"times":0}"#, "times"),
            (#"{"name":"close-after","count":1,"milliseconds":1}"#, "milliseconds"),
            (#"{"name":"close-after","count":1,"topic":"com.example.z"}"#, "topic"),
            (#"{"clear":true,"count":1}"#, "count"),
        ]
    )
    func wrongFaults(body: String, field: String) {
        let answer = post("/faults", body)
        #expect(answer.status == 400)
        #expect(answer.body.hasSuffix(#","field":"\#(field)"}"#), "\(answer.body)")
    }

    @Test("Requests of every fault are understood")
    func faults() throws {
        func change(_ body: String) throws -> FaultsRequest.Change {
            try FaultsRequest(body: Array(body.utf8)).change
        }
        #expect(try change(#"{"clear":true}"#) == .clear)
        let delay = Fault(.answerDelay(milliseconds: 50))
        #expect(try change(#"{"name":"answer-delay","milliseconds":50}"#) == .arm(delay))
        let close = Fault(.closeAfter(count: 3), times: 2)
        #expect(try change(#"{"name":"close-after","count":3,"times":2}"#) == .arm(close))
        #expect(try change(#"{"name":"shutdown-after","count":3}"#) == .arm(Fault(.shutdownAfter(count: 3))))
        let plain = Fault.Behaviour.errorResponse(status: .processingError, every: 1, identifierZero: false)
        #expect(try change(#"{"name":"error-response"}"#) == .arm(Fault(plain)))
        let full = Fault.Behaviour.errorResponse(status: .unknown, every: 9, identifierZero: true)
        #expect(
            try change(#"{"name":"error-response","status":255,"every":9,"identifierZero":true}"#) == .arm(Fault(full))
        )
    }

    @Test("Devices can be named by their tokens; if one of them is wrong, none is changed")
    func tokens() {
        let mint = Self.service.mint(for: Self.service.topics[0])
        let tokens = [2, 7].map { Hex.encode(mint.token(of: AppInstance(device: $0))) }
        func body(_ tokens: [String]) -> String {
            #"{"topic":"com.example.a","state":"offline","tokens":["\#(tokens.joined(separator: #"",""#))"]}"#
        }
        func offline() -> [Int] {
            Self.service.topics[0].withLedger { ledger in
                (0..<10).filter { ledger.population.reachability(of: ledger.population.instance($0)) == .offline }
            }
        }
        #expect(post("/devices", body(tokens + ["00"])).status == 400)
        #expect(offline() == [])
        #expect(post("/devices", body(tokens)) == (200, #"{"changed":2}"#))
        #expect(offline() == [2, 7])
    }

    @Test("Over HTTP: unknown paths, methods and bodies that are too large have their own statuses")
    func http() async throws {
        try await RunningSandbox.run { sandbox in
            #expect(try await sandbox.control("GET", "/nothing").status == 404)
            #expect(try await sandbox.control("POST", "/stats").status == 405)
            #expect(try await sandbox.control("GET", "/devices").status == 405)
            #expect(try await sandbox.control("POST", "/faults", "{").status == 400)
            let large = String(repeating: " ", count: SandboxLimits.controlBodyBytes + 1)
            #expect(try await sandbox.control("POST", "/faults", large).status == 413)
            let stats = try await sandbox.control("GET", "/stats?x=1")
            #expect(stats.status == 200)
            let devices = #"{"offline":0,"online":1000,"removed":0,"uninstalled":0}"#
            let topic =
                #"{"accepted":0,"coalesced":0,"delivered":0,"devices":\#(devices),"discarded":0,"distinct":0,"#
                + #""evicted":0,"expired":0,"feedback":0,"held":0,"invalidJSON":0,"rejected":{},"stored":0}"#
            let connections = #"{"open":0,"refused":0,"total":0}"#
            let topics = #"{"com.example.a":\#(topic),"com.example.b":\#(topic)}"#
            #expect(stats.body == #"{"connections":\#(connections),"faults":{},"topics":\#(topics)}"#)
        }
    }
}
