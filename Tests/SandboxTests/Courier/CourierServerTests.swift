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
    }

    /// Sends and waits until the gateway has answered what comes last.
    private func send(_ payloads: [String], to token: [UInt8], _ sandbox: RunningSandbox) async throws {
        let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
        provider.send(
            payloads.flatMap { Frame.command2(identifier: 1, token: token, payload: Array($0.utf8)) }
                + Frame.sentinel(identifier: 2)
        )
        _ = try await provider.end.get()
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
