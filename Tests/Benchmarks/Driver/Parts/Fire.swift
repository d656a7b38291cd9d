import Foundation
import Workbench

/// The provider that sends as fast as it can, and what it was told.
struct Fire {
    /// Version and cipher that its connections agreed on.
    struct Agreement: Decodable, Equatable {
        let version: String
        let cipher: String
    }

    private struct Sent: Decodable {
        let sent: Int
    }

    private struct Held: Decodable {
        let held: Int
    }

    let agreement: Agreement
    private let child: ChildProcess

    private static let answerMilliseconds: Int32 = 120_000

    /// Parameters that one is started with, apart from the gateway.
    struct Ammunition {
        let pki: URL
        let bundle: String
        /// 32 bytes each, end to end.
        let tokens: URL
        let connections: Int
    }

    /// Starts it, with its connections open.
    ///
    /// - Parameter name: for messages, and for its log.
    init(_ name: String, at gatewayPort: UInt16, _ ammunition: Ammunition, servers: Servers) throws {
        child = try servers.start(
            name,
            program: servers.programs.fire,
            arguments: [
                "--gateway", "127.0.0.1:\(gatewayPort)",
                "--trust", ammunition.pki.appendingPathComponent("ca.pem").path,
                "--identity", ammunition.pki.appendingPathComponent("\(ammunition.bundle).pem").path,
                "--tokens", ammunition.tokens.path, "--connections", "\(ammunition.connections)",
            ]
        )
        agreement = try Self.decode(Agreement.self, child.line(within: Self.answerMilliseconds), child)
    }

    /// Sends the next notifications, and returns when the kernel has them all.
    func send(_ count: Int) throws {
        try child.order("send \(count)")
        _ = try Self.decode(Sent.self, child.line(within: Self.answerMilliseconds), child)
    }

    /// Opens so many more connections and keeps them.
    func hold(_ count: Int) throws {
        try child.order("hold \(count)")
        _ = try Self.decode(Held.self, child.line(within: Self.answerMilliseconds), child)
    }

    /// Sends a notification over each of the connections that it holds.
    func sendOverEach() throws {
        try child.order("each")
        _ = try Self.decode(Sent.self, child.line(within: Self.answerMilliseconds), child)
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ line: String,
        _ child: ChildProcess
    ) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(line.utf8))
        } catch {
            throw BenchmarkError("\(child.name): not the line expected: \(line)")
        }
    }
}
