import APNsProtocol
import Foundation
import Testing

@testable import Sandbox

/// Devices, their rates of change, and what was accepted, over the control interface.
struct LedgerControlTests {
    private static let topics = ["com.example.a", "com.example.b"]

    private let service: PushService
    private let api: ControlAPI

    init() {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: Self.topics, devices: 100)
        configuration.ledger.acceptedEntries = 5
        service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { TopicFixture.now })
        api = ControlAPI(service: service)
    }

    private func post(_ path: String, _ body: String) -> (status: Int, body: String) {
        let response = api.respond(method: "POST", path: path, body: Array(body.utf8))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    private func accepted(_ query: String) -> (status: Int, body: String) { get("/accepted", query) }

    private func get(_ path: String, _ query: String) -> (status: Int, body: String) {
        let response = api.respond(method: "GET", path: path, query: query, body: [])
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    private func set(_ state: String, first: Int = 3, count: Int = 1) -> Int {
        post("/devices", #"{"topic":"com.example.a","state":"\#(state)","first":\#(first),"count":\#(count)}"#).status
    }

    private func token(_ device: UInt32, generation: UInt8 = 0) -> [UInt8] {
        service.mint(for: service.topics[0]).token(of: AppInstance(device: device, generation: generation))
    }

    /// - Returns: whether all were accepted.
    private func send(_ frames: [UInt8]) -> Bool {
        var session = GatewaySession(limits: service.gatewayLimits)
        let mint = service.mint(for: service.topics[0])
        return frames.withUnsafeBytes { bytes in
            service.topics[0].withLedger {
                session.receive(bytes, mint: mint, ledger: &$0, now: TopicFixture.now)
            }
        } == .read
    }

    @Test("Devices take every state, and get a new token when they are restored or wiped")
    func states() {
        func state() -> (DevicePopulation.Reachability, UInt8) {
            service.topics[0].withLedger { ($0.population.state(3), $0.population.instance(3).generation) }
        }
        for (name, expected, generation) in [
            ("offline", .offline, 0), ("online", .online, 0), ("uninstalled", .uninstalled, 0),
            ("reinstalled", .online, 0), ("removed", .removed, 0), ("restored", .online, 1), ("offline", .offline, 1),
            ("wiped", .online, 2),
        ] as [(String, DevicePopulation.Reachability, UInt8)] {
            #expect(set(name) == 200)
            #expect(state() == (expected, generation))
        }
        #expect(service.topics[0].withLedger { $0.population.counts } == DevicePopulation.Counts(online: 100))
    }

    @Test("A removed device can be named by its token, one under an old token cannot")
    func byToken() {
        func set(_ state: String, _ token: [UInt8]) -> Int {
            post("/devices", #"{"topic":"com.example.a","state":"\#(state)","tokens":["\#(Hex.encode(token))"]}"#)
                .status
        }
        #expect(set("removed", token(3)) == 200)
        #expect(set("restored", token(3)) == 200)
        #expect(set("online", token(3)) == 400)
        #expect(set("online", token(3, generation: 1)) == 200)
        #expect(set("online", token(100)) == 400, "there is no such device")
    }

    @Test("Rates are set for one topic or all, and what is left out is 0")
    func population() {
        func rates(_ index: Int) -> ChurnRates { service.topics[index].withLedger { $0.churnRates } }
        let answer = post("/population", #"{"rates":{"offline":0.5,"online":2}}"#)
        let body = #"{"rates":{"offline":0.5,"online":2,"reinstalled":0,"removed":0,"uninstalled":0}}"#
        #expect(answer == (200, body))
        #expect(rates(0).offline == 0.5)
        #expect(rates(1).online == 2)
        #expect(post("/population", #"{"topic":"com.example.b","rates":{"removed":1}}"#).status == 200)
        #expect(rates(0).offline == 0.5)
        #expect(rates(1).offline == 0)
        #expect(rates(1).removed == 1)
    }

    @Test(
        "A wrong /population request names the field",
        arguments: [
            ("{}", "rates"), (#"{"rates":1}"#, "rates"), (#"{"rates":{"gone":1}}"#, "rates.gone"),
            (#"{"rates":{"offline":-1}}"#, "rates.offline"), (#"{"rates":{"offline":"1"}}"#, "rates.offline"),
            (#"{"rates":{"online":3601}}"#, "rates.online"), (#"{"rates":{"online":null}}"#, "rates.online"),
            (#"{"rates":{},"x":1}"#, "x"), (#"{"rates":{},"topic":"com.example.z"}"#, "topic"),
            (#"{"rates":{},"topic":1}"#, "topic"),
        ]
    )
    func wrongPopulation(body: String, field: String) {
        let answer = post("/population", body)
        #expect(answer.status == 400)
        #expect(answer.body.hasSuffix(#","field":"\#(field)"}"#), "\(answer.body)")
    }

    @Test("What was accepted for a device is told in order, and whether that is all")
    func history() {
        for n in [3, 1, 2] {
            #expect(send(Frame.command2(identifier: 1, token: token(7), n: n)))
        }
        #expect(send(Frame.command2(identifier: 1, token: token(8), n: 9)))
        let expected = #"{"accepted":[3,1,2],"complete":true,"device":7,"topic":"com.example.a"}"#
        #expect(accepted("topic=com.example.a&device=7") == (200, expected))
        #expect(accepted("topic=com%2Eexample%2ea&token=\(Hex.encode(token(7)))") == (200, expected))
        #expect(
            accepted("topic=com.example.a").body == #"{"distinct":4,"entries":4,"forgotten":0,"topic":"com.example.a"}"#
        )
        for n in 10..<13 { #expect(send(Frame.command2(identifier: 1, token: token(8), n: n))) }
        let forgetful = #"{"accepted":[2],"complete":false,"device":7,"topic":"com.example.a"}"#
        #expect(accepted("topic=com.example.a&device=7") == (200, forgetful))
        #expect(
            accepted("topic=com.example.a").body == #"{"distinct":7,"entries":5,"forgotten":2,"topic":"com.example.a"}"#
        )
    }

    @Test("A token stands for itself, a device for all the tokens it had")
    func historyOfTokens() {
        #expect(send(Frame.command2(identifier: 1, token: token(3), n: 1)))
        #expect(set("wiped") == 200)
        #expect(send(Frame.command2(identifier: 1, token: token(3, generation: 1), n: 2)))
        #expect(accepted("topic=com.example.a&token=\(Hex.encode(token(3)))").body.contains(#""accepted":[1]"#))
        #expect(accepted("topic=com.example.a&device=3").body.contains(#""accepted":[1,2]"#))
    }

    @Test("The last notification of a device, or of a token, is told with its labels")
    func lastNotification() {
        func last(_ selection: String) -> (status: Int, body: String) {
            get("/notification", "topic=com.example.a&\(selection)")
        }
        #expect(last("device=7") == (200, #"{"device":7,"last":true,"topic":"com.example.a"}"#))
        #expect(send(Frame.command2(identifier: 1, token: token(7), n: 1)))
        #expect(send(Frame.command2(identifier: 1, token: token(7), n: 2, expiration: 0, priority: .powerSaving)))
        let told =
            #"{"device":7,"last":true,"notification":{"accepted":"1970-01-12T13:46:40.000Z","#
            + #""payload":"{\"aps\":{\"alert\":\"hello\"},\"n\":2}","priority":5,"valid":true},"#
            + #""topic":"com.example.a"}"#
        #expect(last("device=7") == (200, told))
        #expect(last("token=\(Hex.encode(token(7)))") == (200, told))
        #expect(last("device=8").body == #"{"device":8,"last":true,"topic":"com.example.a"}"#)
        #expect(send(Frame.command2(identifier: 1, token: token(8), payload: [0xFF], expiration: 1_000_001)))
        let broken =
            #""notification":{"accepted":"1970-01-12T13:46:40.000Z","expiration":"1970-01-12T13:46:41.000Z","#
            + "\"payload\":\"\u{FFFD}\",\"priority\":10,\"valid\":false}"
        #expect(last("device=8").body.contains(broken))
    }

    @Test("The last notification of a device's former token is not that of its new one")
    func lastNotificationOfTokens() {
        #expect(send(Frame.command2(identifier: 1, token: token(3), n: 1)))
        #expect(set("wiped") == 200)
        #expect(send(Frame.command2(identifier: 1, token: token(3, generation: 1), n: 2)))
        func last(_ selection: String) -> String { get("/notification", "topic=com.example.a&\(selection)").body }
        #expect(last("token=\(Hex.encode(token(3)))") == #"{"device":3,"last":false,"topic":"com.example.a"}"#)
        #expect(last("device=3").contains(#"\"n\":2}"#))
        let whole = get("/notification", "topic=com.example.a")
        #expect(whole == (400, #"{"error":"is missing","field":"device"}"#))
    }

    @Test(
        "A wrong /accepted or /notification request names the field",
        arguments: [
            ("", "topic"), ("device=1", "topic"), ("topic=com.example.z", "topic"), ("topic", "topic"),
            ("topic=%4", "topic"), ("topic=%zz", "topic"), ("topic=%ff", "topic"), ("topic=a&topic=a", "topic"),
            ("topic=com.example.a&device=x", "device"), ("topic=com.example.a&device=-1", "device"),
            ("topic=com.example.a&device=100", "device"), ("topic=com.example.a&device=16777215", "device"),
            ("topic=com.example.a&token=xy", "token"), ("topic=com.example.a&token=abcd", "token"),
            ("topic=com.example.a&token=ab&device=1", "device"), ("topic=com.example.a&x=1", "x"),
        ]
    )
    func wrongAccepted(query: String, field: String) {
        for path in ["/accepted", "/notification"] {
            let answer = get(path, query)
            #expect(answer.status == 400)
            #expect(answer.body.hasSuffix(#","field":"\#(field)"}"#), "\(answer.body)")
        }
    }

    @Test("A range is changed to its last device, however many slices that takes")
    func slices() {
        let devices = SandboxLimits.devicesPerSlice * 3 + 5
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: Self.topics, devices: devices)
        configuration.ledger.initial.offline = 0
        let service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { 1 })
        let body = #"{"topic":"com.example.a","state":"offline","first":1,"count":\#(devices - 2)}"#
        let response = ControlAPI(service: service).respond(method: "POST", path: "/devices", body: Array(body.utf8))
        #expect(String(decoding: response.body, as: UTF8.self) == #"{"changed":\#(devices - 2)}"#)
        let counts = service.topics[0].withLedger { $0.population.counts }
        #expect(counts == DevicePopulation.Counts(online: 2, offline: devices - 2))
    }

    @Test("A setting that cannot work is named")
    func settings() {
        let table: [(String, (inout LedgerConfiguration) -> Void)] = [
            ("power-saving-interval", { $0.powerSavingInterval = 0 }),
            ("power-saving-interval", { $0.powerSavingInterval = .nan }), ("storage-mib", { $0.storageMiB = 0 }),
            ("storage-mib", { $0.storageMiB = 1 << 21 }), ("remembered-pairs", { $0.rememberedPairs = 0 }),
            ("accepted-entries", { $0.acceptedEntries = 0 }), ("churn: online", { $0.churn.online = -1 }),
            ("initial: offline", { $0.initial.offline = .nan }),
        ]
        for (subject, change) in table {
            var configuration = LedgerConfiguration()
            change(&configuration)
            let error = #expect(throws: SandboxSetupError.self) { try configuration.check() }
            #expect(error?.subject == subject)
        }
    }

    @Test("The memory of the store is divided over the topics, and each topic has chance of its own")
    func perTopic() {
        var configuration = LedgerConfiguration()
        configuration.storageMiB = 30
        let settings = (0..<3).map { configuration.settings(topic: $0, of: 3) }
        #expect(settings.map(\.storageBytes) == [10 << 20, 10 << 20, 10 << 20])
        #expect(Set(settings.map(\.seed)).count == 3)
        #expect(settings.map(\.topic) == [0, 1, 2])
    }
}
