import APNsProtocol
import Testing

@testable import Sandbox

/// Faults of gateway and feedback service over real TLS.
struct FaultServerTests {
    private func frames(_ sandbox: RunningSandbox, _ devices: Range<UInt32>) throws -> [UInt8] {
        try devices.flatMap { Frame.command2(identifier: $0 + 1, token: try sandbox.token($0), n: Int($0)) }
    }

    private func arm(_ sandbox: RunningSandbox, _ body: String) async throws {
        #expect(try await sandbox.control("POST", "/faults", body) == (200, "{}"))
    }

    private func struck(_ sandbox: RunningSandbox, _ faults: String) async throws {
        let answer = try await sandbox.control("GET", "/stats")
        #expect(answer.body.contains("\"faults\":{\(faults)}"), "\(answer.body)")
    }

    @Test("reset-after shows the provider a reset and no packet")
    func resetAfter() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"reset-after","count":3}"#)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<9))
            let end = try await provider.end.get()
            #expect(end.bytes.isEmpty)
            #expect(end.error?.contains("reset by peer") == true, "\(end.error ?? "no error")")
            #expect(try await sandbox.stats()["accepted"] == .integer(3))
            try await struck(sandbox, #""reset-after":1"#)
        }
    }

    @Test("silence-after sends no packet and no end, whatever comes, until the provider closes")
    func silenceAfter() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"silence-after","count":3}"#)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<9))
            provider.send(Frame.sentinel(identifier: 10))
            try await sandbox.wait(for: #""discarded":7"#)
            #expect(provider.channel.isActive)
            provider.closeOutput()
            let end = try await provider.end.get()
            #expect(end.bytes.isEmpty)
            #expect(end.error == nil)
            #expect(try await sandbox.stats()["accepted"] == .integer(3))
            try await struck(sandbox, #""silence-after":1"#)
        }
    }

    @Test("A stalled gateway is felt: the provider cannot write for ever, and is not the worse for it afterwards")
    func stallPushesBack() async throws {
        try await RunningSandbox.run(threads: 2) { sandbox in
            try await arm(sandbox, #"{"name":"stall-after","count":3}"#)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<3))
            try await sandbox.wait(for: #""stall-after":1"#)
            // More than the kernel's buffers of both sides take.
            let rest = try frames(sandbox, 0..<1000)
            for _ in 0..<200 { provider.send(rest) }
            provider.send(Frame.sentinel(identifier: 9))
            try await provider.channel.eventLoop.submit {}.get()
            #expect(try await sandbox.stats()["accepted"] == .integer(3))
            #expect(!provider.channel.isWritable)
            try await arm(sandbox, #"{"clear":true}"#)
            #expect(try await provider.end.get().answer?.identifier == 9)
            #expect(try await sandbox.stats()["accepted"] == .integer(200_003))
        }
    }

    @Test("stall-after with a time goes on by itself")
    func stallWithTime() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"stall-after","count":3,"milliseconds":30}"#)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<9) + Frame.sentinel(identifier: 10))
            #expect(try await provider.end.get().answer?.identifier == 10)
            #expect(try await sandbox.stats()["accepted"] == .integer(9))
            try await struck(sandbox, #""stall-after":1"#)
        }
    }

    @Test("slow-reader and round-trip make all of it late, and leave it in order")
    func slowAndLate() async throws {
        try await RunningSandbox.run { sandbox in
            try await arm(sandbox, #"{"name":"slow-reader","bytesPerSecond":400000}"#)
            try await arm(sandbox, #"{"name":"round-trip","milliseconds":20}"#)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<500))
            provider.send(Frame.sentinel(identifier: 501))
            provider.closeOutput()
            #expect(try await provider.end.get().answer?.identifier == 501)
            #expect(try await sandbox.stats()["accepted"] == .integer(500))
            let strikes = try await sandbox.control("GET", "/stats").body
            #expect(!strikes.contains(#""round-trip":0"#))
            #expect(!strikes.contains(#""slow-reader":0"#))
        }
    }

    @Test("feedback-cut ends the stream in the middle of a tuple, and the list is cleared all the same")
    func feedbackCut() async throws {
        try await RunningSandbox.run { sandbox in
            let change = #"{"topic":"com.example.a","first":0,"count":5,"state":"uninstalled"}"#
            #expect(try await sandbox.control("POST", "/devices", change).status == 200)
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            provider.send(try frames(sandbox, 0..<5) + Frame.sentinel(identifier: 6))
            _ = try await provider.end.get()

            try await arm(sandbox, #"{"name":"feedback-cut","bytes":50}"#)
            let cut = try await sandbox.connect(to: sandbox.server.ports.feedback).end.get()
            let first = FeedbackTuple(timestamp: TopicFixture.now, token: try sandbox.token(0)).encoded
            #expect(cut.bytes.count == 50)
            #expect(cut.bytes.starts(with: first))
            #expect(cut.error == nil)
            #expect(try await sandbox.connect(to: sandbox.server.ports.feedback).end.get().bytes.isEmpty)
            try await struck(sandbox, #""feedback-cut":1"#)
        }
    }
}
