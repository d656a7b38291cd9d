import APNsProtocol
import Logging
import NIOCore
import TLSTransport
import Testing

@testable import Sandbox

/// The courier over real TLS, from the provider at the gateway to the device.
struct CourierServerTests {
    private static let topic = RunningSandbox.topics[0]

    /// A device client whose reports can be waited for, one by one.
    private final class Device {
        private var reports: AsyncStream<DeviceReport>.AsyncIterator
        private let task: Task<Void, any Error>

        init(
            _ sandbox: RunningSandbox,
            _ device: UInt32,
            change: (inout DeviceClient.Settings) -> Void = { _ in }
        ) {
            var settings = DeviceClient.Settings(
                pkiDirectory: sandbox.pki.directory,
                port: sandbox.server.ports.device,
                device: device,
                topics: [CourierServerTests.topic]
            )
            change(&settings)
            let (stream, continuation) = AsyncStream.makeStream(of: DeviceReport.self)
            reports = stream.makeAsyncIterator()
            task = Task { [settings] in
                defer { continuation.finish() }
                try await DeviceClient.run(settings, logger: RunningSandbox.quietLogger) { continuation.yield($0) }
            }
        }

        func next() async -> DeviceReport? {
            await reports.next(isolation: #isolation)
        }

        /// The next one, which has to be a token.
        func token() async -> [UInt8]? {
            guard case .token(_, let token)? = await next() else { return nil }
            return token
        }

        /// The payload of the next one, which has to be a notification.
        func payload() async -> String? {
            guard case .notification(let notification)? = await next() else { return nil }
            return notification.text
        }

        /// Waits for its own end.
        func end() async throws {
            try await task.value
        }

        func stop() async throws {
            task.cancel()
            try await task.value
        }
    }

    /// Sends and waits until the gateway has answered what comes last.
    ///
    /// - Returns: the identifier and status of the answer; the notifications are numbered from 1.
    @discardableResult
    private func send(_ payloads: [String], to token: [UInt8], _ sandbox: RunningSandbox) async throws -> ErrorResponse?
    {
        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
        var bytes: [UInt8] = []
        for (index, payload) in payloads.enumerated() {
            bytes += Frame.command2(identifier: UInt32(index + 1), token: token, payload: Array(payload.utf8))
        }
        provider.send(bytes + Frame.sentinel(identifier: UInt32(payloads.count + 1)))
        return try await provider.end.get().answer
    }

    private func offline(_ device: Int, _ sandbox: RunningSandbox) async throws {
        let body = #"{"topic":"\#(Self.topic)","first":\#(device),"count":1,"state":"offline"}"#
        #expect(try await sandbox.control("POST", "/devices", body).status == 200)
    }

    @Test("A connected device gets what is sent to its token, in order, and nothing of others")
    func online() async throws {
        try await RunningSandbox.run(threads: 2) { sandbox in
            let device = Device(sandbox, 7) { $0.count = 200 }
            let token = try #require(await device.token())
            #expect(try token == sandbox.token(7))
            try await send(["for another"], to: sandbox.token(8), sandbox)
            let payloads = (0..<200).map { #"{"aps":{},"n":\#($0)}"# }
            for chunk in [payloads[..<150], payloads[150...]] { try await send(Array(chunk), to: token, sandbox) }
            for payload in payloads { #expect(await device.payload() == payload) }
            try await device.end()
            let stats = try await sandbox.stats()
            #expect(stats["delivered"] == .integer(201))
        }
    }

    @Test("A newer notification for an offline device replaces the stored one, and is delivered when it connects")
    func storedThenDelivered() async throws {
        try await RunningSandbox.run { sandbox in
            try await offline(7, sandbox)
            try await send(["older", "newer"], to: sandbox.token(7), sandbox)
            #expect(try await sandbox.stats()["stored"] == .integer(1))
            let device = Device(sandbox, 7) {
                $0.token = try? sandbox.token(7)
                $0.count = 1
            }
            #expect(await device.payload() == "newer")
            try await device.end()
            let stats = try await sandbox.stats()
            #expect(stats["stored"] == .integer(0))
            #expect(stats["delivered"] == .integer(1))
            #expect(stats["coalesced"] == .integer(1))
        }
    }

    @Test("A device that disconnects is offline, and gets what came meanwhile when it is back")
    func awayAndBack() async throws {
        try await RunningSandbox.run { sandbox in
            let first = Device(sandbox, 7)
            let token = try #require(await first.token())
            try await first.stop()
            // The answer to the next connection comes after the end of the last one: the newer takes over.
            try await offline(7, sandbox)
            try await send(["while away"], to: token, sandbox)
            let second = Device(sandbox, 7) { $0.count = 1 }
            #expect(await second.token() == token)
            #expect(await second.payload() == "while away")
            try await second.end()
        }
    }

    @Test("The newer of two connections of a device takes over; the older one is told and does not come back")
    func takeover() async throws {
        try await RunningSandbox.run { sandbox in
            let older = Device(sandbox, 7)
            let token = try #require(await older.token())
            let newer = Device(sandbox, 7) { $0.count = 1 }
            #expect(await newer.token() == token)
            let refusal = await #expect(throws: DeviceClient.Refusal.self) { try await older.end() }
            #expect(refusal?.description.contains("newer connection") == true)
            try await send(["one"], to: token, sandbox)
            #expect(await newer.payload() == "one")
            try await newer.end()
        }
    }

    @Test(
        "A restored or wiped device has a different token, and the old one has status 8 at the gateway",
        arguments: [DeviceClient.Errand.restore, .wipe]
    )
    func renewed(errand: DeviceClient.Errand) async throws {
        try await RunningSandbox.run { sandbox in
            let old = try sandbox.token(7)
            let device = Device(sandbox, 7) {
                $0.errand = errand
                $0.count = 1
            }
            let new = try #require(await device.token())
            #expect(new != old)
            let refused = try await send(["to the old one"], to: old, sandbox)
            #expect(refused == ErrorResponse(status: .invalidToken, identifier: 1))
            try await send(["to the new one"], to: new, sandbox)
            #expect(await device.payload() == "to the new one")
            try await device.end()
            let outdated = Device(sandbox, 7) { $0.token = old }
            let refusal = await #expect(throws: DeviceClient.Refusal.self) { try await outdated.end() }
            #expect(refusal?.description.contains("replaced by another") == true)
        }
    }

    @Test("An app that the device unregisters is a matter for the feedback list")
    func unregistered() async throws {
        try await RunningSandbox.run { sandbox in
            let device = Device(sandbox, 7) { $0.errand = .unregister }
            #expect(await device.next() == .unregistered(topic: Self.topic))
            try await device.end()
            try await send(["too late"], to: sandbox.token(7), sandbox)
            #expect(try await sandbox.stats()["feedback"] == .integer(1))
        }
    }

    @Test("A token of another device is refused with an error frame, and the connection is closed")
    func foreignToken() async throws {
        try await RunningSandbox.run { sandbox in
            let device = Device(sandbox, 7) { $0.token = try? sandbox.token(8) }
            let refusal = await #expect(throws: DeviceClient.Refusal.self) { try await device.end() }
            #expect(refusal?.description == "the token is not one of device 7")
            let answer = try await sandbox.control("GET", "/stats")
            #expect(answer.body.contains(#""dropped":0,"refused":1,"total":1}"#))
        }
    }

    @Test("A provider's certificate is refused at the courier, a device's at the gateway and the feedback service")
    func certificates() async throws {
        try await RunningSandbox.run { sandbox in
            let provider = try await sandbox.connect(to: sandbox.server.ports.device)
            provider.send(CourierRequest.register(topic: Self.topic).encoded)
            let end = try await provider.end.get()
            #expect(end.bytes.first == CourierFrame.Kind.refused.rawValue)
            #expect(end.bytes.dropFirst(3).first == CourierRefusal.Code.unknownDevice.rawValue)
            #expect(end.error == nil)

            let identity = try sandbox.pki.deviceIdentity(7)
            for port in [sandbox.server.ports.gateway, sandbox.server.ports.feedback] {
                let device = try await sandbox.connect(to: port, identity: identity)
                device.send(Frame.command2(identifier: 1, token: try sandbox.token(7)))
                #expect(try await device.end.get().bytes.isEmpty)
            }
            #expect(try await sandbox.stats()["accepted"] == .integer(0))
            let without = try await sandbox.connect(to: sandbox.server.ports.device, identity: nil)
            #expect(try await without.end.get().bytes.isEmpty)
        }
    }

    @Test("A payload arrives byte by byte as it was sent, JSON or not")
    func anyPayload() async throws {
        try await RunningSandbox.run { sandbox in
            let device = Device(sandbox, 7) { $0.count = 1 }
            let token = try #require(await device.token())
            let payload: [UInt8] = [0xff, 0, 0x7b, 0xc3]
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(Frame.command2(identifier: 1, token: token, payload: payload, expiration: 0))
            guard case .notification(let notification)? = await device.next() else {
                Issue.record("nothing arrived")
                return
            }
            #expect(notification.payload == payload)
            #expect(notification.expiration == 0)
            #expect(notification.priority == 10)
            try await device.end()
        }
    }
}
