import Foundation
import FoundationNetworking
import LocalPipeline
import Testing
import Workbench

/// Asks the operations endpoint of a role that runs as a process.
struct OperationsClient {
    /// The answer of /readyz.
    struct Ready: Decodable, Equatable {
        var ready: Bool
        var obstacles: [String]
    }

    private let address: String

    /// Returns when the role's log has told where its endpoint listens; fails if the role ends before.
    init(of role: ChildProcess, _ kafka: PipelineClient) throws {
        var found: String?
        try kafka.wait(for: "the operations endpoint") {
            found = WorkerLog.operationsAddress(of: role)
            return found != nil || !role.isRunning
        }
        guard let found else { throw ChildProcess.Failure(description: "the role has ended: \(role.log)") }
        address = found
    }

    /// The samples by name and labels.
    func metrics() async throws -> [String: Double] {
        let (status, body) = try await get("metrics")
        #expect(status == 200)
        var samples: [String: Double] = [:]
        for line in String(decoding: body, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            samples[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        return samples
    }

    func readiness() async throws -> (status: Int, answer: Ready) {
        let (status, body) = try await get("readyz")
        return (status, try JSONDecoder().decode(Ready.self, from: body))
    }

    private func get(_ path: String) async throws -> (status: Int, body: Data) {
        let url = try #require(URL(string: "http://\(address)/\(path)"))
        let (body, response) = try await URLSession.shared.data(from: url)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, body)
    }
}
