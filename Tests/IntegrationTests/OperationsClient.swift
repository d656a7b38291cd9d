import BelfrySupport
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

    /// `host:port`.
    let address: String

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
        return MetricNumbers(String(decoding: body, as: UTF8.self)).bySeries
    }

    /// The names of all series that the role can have: those of a histogram are named after it.
    func seriesNames() async throws -> Set<String> {
        let (status, body) = try await get("metrics")
        #expect(status == 200)
        var names: Set<String> = []
        for line in String(decoding: body, as: UTF8.self).split(separator: "\n") {
            guard let type = line.wholeMatch(of: /# TYPE ([a-z_]+) ([a-z]+)/) else { continue }
            let suffixes = type.2 == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            names.formUnion(suffixes.map { String(type.1) + $0 })
        }
        return names
    }

    func readiness() async throws -> (status: Int, answer: Ready) {
        let (status, body) = try await get("readyz")
        return (status, try JSONDecoder().decode(Ready.self, from: body))
    }

    /// - Parameter token: to show; nil: none.
    func status(of path: String, token: String? = nil) async throws -> Int {
        try await get(path, token: token).status
    }

    /// The answer of /status.
    func roleStatus() async throws -> RoleStatus {
        try JSONDecoder().decode(RoleStatus.self, from: try await get("status").body)
    }

    private func get(_ path: String, token: String? = nil) async throws -> (status: Int, body: Data) {
        var request = URLRequest(url: try #require(URL(string: "http://\(address)/\(path)")))
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (body, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, body)
    }
}
