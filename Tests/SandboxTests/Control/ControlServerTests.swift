import APNsProtocol
import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// The control interface: what it takes, and what it says to what is wrong.
struct ControlServerTests {
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
            (#"{"clear":"flood"}"#, "clear"), (#"{"clear":true,"topic":"com.example.z"}"#, "topic"),
            (#"{"seed":-1}"#, "seed"), (#"{"seed":1,"name":"close-after"}"#, "name"),
            (#"{"name":"answer-delay"}"#, "milliseconds"),
            (#"{"name":"answer-delay","milliseconds":-1}"#, "milliseconds"),
            (#"{"name":"answer-delay","milliseconds":1.5}"#, "milliseconds"), (#"{"name":"close-after"}"#, "count"),
            (#"{"name":"close-after","count":0}"#, "count"), (#"{"name":"shutdown-after","count":"1"}"#, "count"),
            (#"{"name":"error-response","status":256}"#, "status"),
            (#"{"name":"error-response","status":10}"#, "status"),
            (#"{"name":"error-response","every":0}"#, "every"),
            (#"{"name":"error-response","identifierZero":1}"#, "identifierZero"),
            (#"{"name":"error-response","identifier":"none"}"#, "identifier"),
            (#"{"name":"error-response","identifier":"own","identifierZero":true}"#, "identifierZero"),
            (#"{"name":"error-response","probability":1.1}"#, "probability"),
            (#"{"name":"error-response","probability":"1"}"#, "probability"),
            (#"{"name":"error-response","probability":0.5,"every":2}"#, "probability"),
            (#"{"name":"error-response","tokens":["00"],"every":2}"#, "tokens"),
            (#"{"name":"error-response","tokens":[]}"#, "tokens"),
            (#"{"name":"error-response","tokens":["0"]}"#, "tokens[0]"),
            (#"{"name":"error-response","tokens":["00"]}"#, "tokens[0]"),
            (#"{"name":"reset-after"}"#, "count"), (#"{"name":"silence-after"}"#, "count"),
            (#"{"name":"stall-after"}"#, "count"),
            (#"{"name":"stall-after","count":1,"milliseconds":0}"#, "milliseconds"),
            (#"{"name":"slow-reader"}"#, "bytesPerSecond"),
            (#"{"name":"slow-reader","bytesPerSecond":0}"#, "bytesPerSecond"),
            (#"{"name":"round-trip"}"#, "milliseconds"), (#"{"name":"connection-limit"}"#, "count"),
            (#"{"name":"connect-rate-limit"}"#, "perMinute"), (#"{"name":"feedback-cut"}"#, "bytes"),
            (#"{"name":"feedback-cut","bytes":-1}"#, "bytes"), (#"{"name":"sentinel-silence","count":1}"#, "count"),
            (#"{"name":"refuse-connects","topic":"com.example.a"}"#, "topic"),
            (#"{"name":"refuse-handshakes","topic":"com.example.a"}"#, "topic"),
            (#"{"name":"refuse-certificates","topic":"com.example.a"}"#, "topic"),
            (#"{"name":"connect-rate-limit","perMinute":1,"topic":"com.example.a"}"#, "topic"),
            (#"{"clear":"refuse-connects","topic":"com.example.a"}"#, "topic"),
            (#"{"name":"close-after","count":1,"times":0}"#, "times"),
            (#"{"name":"close-after","count":1,"milliseconds":1}"#, "milliseconds"),
            (#"{"name":"close-after","count":1,"topic":"com.example.z"}"#, "topic"),
            (#"{"clear":true,"count":1}"#, "count"), (#"{"name":"request-error"}"#, "reason"),
            (#"{"name":"request-error","reason":""}"#, "reason"),
            (#"{"name":"request-error","reason":"\""}"#, "reason"),
            (#"{"name":"request-error","reason":"Odd"}"#, "status"),
            (#"{"name":"request-error","reason":"Odd","status":200}"#, "status"),
            (#"{"name":"request-error","reason":"Odd","status":400,"tokens":["00"]}"#, "tokens[0]"),
            (#"{"name":"stream-reset","code":"refused"}"#, "code"), (#"{"name":"stream-reset","every":0}"#, "every"),
            (#"{"name":"goaway-after"}"#, "count"), (#"{"name":"goaway-after","count":1,"code":7}"#, "code"),
            (#"{"name":"mute-after"}"#, "count"), (#"{"name":"answer-shuffle"}"#, "milliseconds"),
            (#"{"name":"stream-limit","count":1001}"#, "count"), (#"{"name":"stream-collapse","count":1}"#, "count"),
            (#"{"name":"window-size","bytes":-1}"#, "bytes"), (#"{"name":"window-stall","bytes":1}"#, "bytes"),
            (#"{"name":"token-clock"}"#, "seconds"), (#"{"name":"token-clock","seconds":86401}"#, "seconds"),
            (#"{"name":"token-clock","seconds":1,"topic":"com.example.a"}"#, "topic"),
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
        func arms(_ parameters: String, _ behaviour: Fault.Behaviour) throws {
            #expect(try change("{\(parameters)}") == .arm(Fault(behaviour), tokens: []))
            #expect(try change("{\(parameters),\"times\":2}") == .arm(Fault(behaviour, times: 2), tokens: []))
        }
        #expect(try change(#"{"clear":true}"#) == .clear(nil))
        #expect(try change(#"{"clear":"round-trip"}"#) == .clear(.roundTrip))
        #expect(try change(#"{"seed":9}"#) == .seed(9))
        try arms(#""name":"answer-delay","milliseconds":50"#, .answerDelay(milliseconds: 50))
        try arms(#""name":"close-after","count":3"#, .closeAfter(count: 3))
        try arms(#""name":"connect-rate-limit","perMinute":3"#, .connectRateLimit(perMinute: 3))
        try arms(#""name":"connection-limit","count":0"#, .connectionLimit(count: 0))
        try arms(#""name":"feedback-cut","bytes":40"#, .feedbackCut(bytes: 40))
        try arms(#""name":"refuse-certificates""#, .refuseCertificates)
        try arms(#""name":"refuse-connects""#, .refuseConnects)
        try arms(#""name":"refuse-handshakes""#, .refuseHandshakes)
        try arms(#""name":"reset-after","count":3"#, .resetAfter(count: 3))
        try arms(#""name":"round-trip","milliseconds":80"#, .roundTrip(milliseconds: 80))
        try arms(#""name":"sentinel-silence""#, .sentinelSilence)
        try arms(#""name":"shutdown-after","count":3"#, .shutdownAfter(count: 3))
        try arms(#""name":"silence-after","count":3"#, .silenceAfter(count: 3))
        try arms(#""name":"slow-reader","bytesPerSecond":9"#, .slowReader(bytesPerSecond: 9))
        try arms(#""name":"stall-after","count":3"#, .stallAfter(count: 3, milliseconds: nil))
        try arms(#""name":"stall-after","count":3,"milliseconds":8"#, .stallAfter(count: 3, milliseconds: 8))
        try arms(#""name":"error-response""#, .errorResponse(Fault.Refusal()))
        let nobody = Fault.Refusal(status: .unknown, selection: .every(9), identifier: .zero)
        try arms(#""name":"error-response","status":255,"every":9,"identifierZero":true"#, .errorResponse(nobody))
        let wrong = Fault.Refusal(selection: .probability(0.25), identifier: .wrong)
        try arms(#""name":"error-response","probability":0.25,"identifier":"wrong""#, .errorResponse(wrong))
        let some = Fault(.errorResponse(Fault.Refusal(selection: .instances([]))))
        #expect(try change(#"{"name":"error-response","tokens":["0aff"]}"#) == .arm(some, tokens: [[10, 255]]))
    }

    @Test("Requests of the provider API's faults are understood, and listed with what they have")
    func requestFaults() throws {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: ["a"], devices: 10)
        configuration.ledger.rememberedPairs = 10
        let service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { 0 })
        let api = ControlAPI(service: service)
        func lists(_ body: String, _ behaviour: Fault.Behaviour, _ listed: String) throws {
            #expect(try FaultsRequest(body: Array(body.utf8)).change == .arm(Fault(behaviour), tokens: []))
            #expect(api.respond(method: "POST", path: "/faults", body: Array(body.utf8)).status == 200)
            let document = api.respond(method: "GET", path: "/faults", body: []).body
            #expect(String(decoding: document, as: UTF8.self) == #"{"faults":[\#(listed)]}"#)
            _ = api.respond(method: "POST", path: "/faults", body: Array(#"{"clear":true}"#.utf8))
        }
        try lists(
            #"{"name":"request-error","reason":"ServiceUnavailable"}"#,
            .requestError(Fault.RequestError(status: 503, reason: .serviceUnavailable)),
            #"{"every":1,"name":"request-error","reason":"ServiceUnavailable","status":503,"strikes":0,"topic":"a"}"#
        )
        let odd = ProviderReason(rawValue: "Odd")
        try lists(
            #"{"name":"request-error","reason":"Odd","status":418,"probability":0.5}"#,
            .requestError(Fault.RequestError(status: 418, reason: odd, selection: .probability(0.5))),
            #"{"name":"request-error","probability":0.5,"reason":"Odd","status":418,"strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"stream-reset","every":3}"#,
            .streamReset(Fault.StreamReset(selection: .every(3))),
            #"{"code":"REFUSED_STREAM","every":3,"name":"stream-reset","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"goaway-after","count":3,"reason":"Odd","code":"CANCEL"}"#,
            .goAwayAfter(Fault.GoAway(count: 3, reason: "Odd", code: .cancel)),
            #"{"code":"CANCEL","count":3,"name":"goaway-after","reason":"Odd","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"mute-after","count":3}"#,
            .muteAfter(count: 3),
            #"{"count":3,"name":"mute-after","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"answer-shuffle","milliseconds":3}"#,
            .answerShuffle(milliseconds: 3),
            #"{"milliseconds":3,"name":"answer-shuffle","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"stream-limit","count":0}"#,
            .streamLimit(count: 0),
            #"{"count":0,"name":"stream-limit","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"stream-collapse"}"#,
            .streamCollapse,
            #"{"name":"stream-collapse","strikes":0,"topic":"a"}"#
        )
        try lists(
            #"{"name":"window-size","bytes":9}"#,
            .windowSize(bytes: 9),
            #"{"bytes":9,"name":"window-size","strikes":0,"topic":"a"}"#
        )
        try lists(#"{"name":"window-stall"}"#, .windowStall, #"{"name":"window-stall","strikes":0,"topic":"a"}"#)
        try lists(
            #"{"name":"token-clock","seconds":-9}"#,
            .tokenClock(seconds: -9),
            #"{"name":"token-clock","seconds":-9,"strikes":0}"#
        )
    }

    @Test("GET /faults lists what is on, with its parameters and strikes; what was cleared or is over is gone")
    func listing() {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: ["b", "a"], devices: 10)
        configuration.gatewayPort = 0
        let service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { 0 })
        let api = ControlAPI(service: service)
        let token = Hex.encode(service.mint(for: service.topics[0]).token(of: AppInstance(device: 3)))
        func post(_ body: String) -> Int { api.respond(method: "POST", path: "/faults", body: Array(body.utf8)).status }
        func listed() -> String {
            String(decoding: api.respond(method: "GET", path: "/faults", body: []).body, as: UTF8.self)
        }
        #expect(listed() == #"{"faults":[]}"#)
        #expect(post(#"{"name":"stall-after","count":3}"#) == 200)
        #expect(post(#"{"name":"refuse-connects","times":2}"#) == 200)
        #expect(post(#"{"name":"error-response","topic":"b","tokens":["\#(token)"]}"#) == 200)
        #expect(post(#"{"name":"error-response","tokens":["\#(token)"]}"#) == 400, "tokens are of one topic")
        #expect(post(#"{"name":"error-response","topic":"a","tokens":["\#(token)"]}"#) == 400)
        _ = service.judgeConnect()
        let door = #"{"left":1,"name":"refuse-connects","strikes":1,"times":2}"#
        let refusal =
            #"{"identifier":"own","name":"error-response","status":1,"strikes":0,"tokens":["\#(token)"],"topic":"b"}"#
        func stall(_ topic: String) -> String {
            #"{"count":3,"name":"stall-after","strikes":0,"topic":"\#(topic)"}"#
        }
        #expect(listed() == #"{"faults":[\#(door),\#(refusal),\#(stall("b")),\#(stall("a"))]}"#)
        let armed = StatsDocument(of: service).faults
        #expect(armed == ["refuse-connects": 1, "error-response": 0, "stall-after": 0], "armed and never struck: 0")
        #expect(post(#"{"clear":"stall-after","topic":"b"}"#) == 200)
        #expect(listed() == #"{"faults":[\#(door),\#(refusal),\#(stall("a"))]}"#)
        #expect(post(#"{"clear":true,"topic":"b"}"#) == 200)
        #expect(listed() == #"{"faults":[\#(door),\#(stall("a"))]}"#)
        #expect(post(#"{"clear":true}"#) == 200)
        #expect(listed() == #"{"faults":[]}"#)
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

    /// The sandbox's README.
    private static let document = Repository.top.appending(path: "Sources/Sandbox/README.md")

    @Test("Over HTTP: unknown paths, methods and bodies that are too large have their own statuses")
    func http() async throws {
        try await RunningSandbox.run { sandbox in
            let nothing = try await sandbox.control("GET", "/nothing")
            #expect(nothing.status == 404)
            let document = try String(contentsOf: Self.document, encoding: .utf8)
            let paths = [
                "accepted", "channels", "devices", "events", "faults", "feedback", "field", "notification",
                "population", "stats", "subscriptions",
            ]
            for path in paths {
                #expect(nothing.body.contains("/\(path)"), "\(path) is there, and is not named")
                #expect(document.contains(try Regex("\\| `(GET|POST) /\(path)\\b")), "\(path) is not described")
                #expect(try await sandbox.control("PUT", "/\(path)").status == 405)
            }
            #expect(try await sandbox.control("POST", "/stats").status == 405)
            #expect(try await sandbox.control("GET", "/devices").status == 405)
            #expect(try await sandbox.control("POST", "/faults", "{").status == 400)
            let large = String(repeating: " ", count: SandboxLimits.controlBodyBytes + 1)
            #expect(try await sandbox.control("POST", "/faults", large).status == 413)
            let stats = try await sandbox.control("GET", "/stats?x=1")
            #expect(stats.status == 200)
            let devices = #"{"offline":0,"online":1000,"removed":0,"uninstalled":0}"#
            let channels = #"{"accepted":0,"delivered":0,"missed":0,"registered":0,"stored":0,"subscribers":0}"#
            let list = #"{"arrived":0,"taken":0,"waiting":0}"#
            let topic =
                #"{"accepted":0,"channels":\#(channels),"coalesced":0,"delivered":0,"devices":\#(devices),"#
                + #""discarded":0,"distinct":0,"#
                + #""evicted":0,"expired":0,"feedback":0,"feedbackList":\#(list),"held":0,"invalidJSON":0,"#
                + #""rejected":{},"stored":0}"#
            let connections = #"{"open":0,"refused":0,"total":0}"#
            let topics = #"{"com.example.a":\#(topic),"com.example.b":\#(topic)}"#
            let courier = #"{"connected":0,"dropped":0,"refused":0,"total":0}"#
            let expected =
                #"{"api":{"goAways":{},"rejected":{},"resets":{}},"connections":\#(connections),"#
                + #""courier":\#(courier),"faults":{},"topics":\#(topics)}"#
            #expect(stats.body == expected)
        }
    }
}
