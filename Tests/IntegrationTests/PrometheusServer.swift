import Foundation
import FoundationNetworking
import Workbench

/// A Prometheus that scrapes roles of this machine, and answers queries.
struct PrometheusServer {
    private let process: ChildProcess
    private let port: Int

    struct Answer: Decodable {
        var status: String
        var data: Values?
        var error: String?
        var warnings: [String]?
    }

    struct Values: Decodable {
        var result: [Series]
    }

    struct Series: Decodable {
        private enum Key: CodingKey {
            case metric, value
        }

        /// The labels.
        var metric: [String: String]
        var value: String

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            metric = try values.decode([String: String].self, forKey: .metric)
            var pair = try values.nestedUnkeyedContainer(forKey: .value)
            _ = try pair.decode(Double.self)
            value = try pair.decode(String.self)
        }
    }

    private struct Names: Decodable {
        var data: [String]
    }

    /// - Parameter targets: `host:port`, by the name of its job.
    init(targets: [String: String], directory: String) throws {
        port = try freePort()
        let jobs = targets.sorted { $0.key < $1.key }.map { job, target in
            "  - {job_name: \(job), static_configs: [{targets: [\"\(target)\"]}]}"
        }
        let configuration = """
            global: {scrape_interval: 500ms, scrape_timeout: 500ms}
            scrape_configs:
            \(jobs.joined(separator: "\n"))

            """
        try configuration.write(toFile: "\(directory)/prometheus.yaml", atomically: true, encoding: .utf8)
        process = try ChildProcess(
            "prometheus",
            executable: "/usr/bin/env",
            arguments: [
                "prometheus", "--config.file=\(directory)/prometheus.yaml",
                "--storage.tsdb.path=\(directory)/prometheus", "--web.listen-address=127.0.0.1:\(port)",
                "--log.level=warn",
            ],
            logFile: "\(directory)/prometheus.log"
        )
    }

    var isRunning: Bool { process.isRunning }
    var log: String { process.log }

    func stop() { process.terminate() }

    /// The answer at this moment.
    func ask(_ query: String) async throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: await get("query", ["query": query]))
    }

    /// The values of a label, in all series or those of a selector.
    func values(of label: String, in selector: String? = nil) async throws -> Set<String> {
        let parameters = selector.map { ["match[]": $0] } ?? [:]
        return Set(try JSONDecoder().decode(Names.self, from: await get("label/\(label)/values", parameters)).data)
    }

    func labels() async throws -> Set<String> {
        Set(try JSONDecoder().decode(Names.self, from: await get("labels", [:])).data)
    }

    private func get(_ path: String, _ parameters: [String: String]) async throws -> Data {
        let pairs = parameters.map { pair in
            [pair.key, pair.value]
                .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }.joined(separator: "=")
        }
        guard let url = URL(string: "http://127.0.0.1:\(port)/api/v1/\(path)?\(pairs.joined(separator: "&"))") else {
            throw ChildProcess.Failure(description: "no URL: \(path) \(parameters)")
        }
        return try await URLSession.shared.data(from: url).0
    }
}
