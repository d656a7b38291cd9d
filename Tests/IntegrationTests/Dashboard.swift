import Foundation
import TestSupport
import Testing

/// A dashboard of Deploy/grafana, as far as its queries are concerned.
struct Dashboard: Decodable {
    static let folder = "Deploy/grafana/dashboards"

    struct Panel: Decodable {
        var title: String
        var targets: [Target]?
    }

    struct Target: Decodable {
        var expr: String
        var legendFormat: String

        /// The labels that the legend shows.
        var legendLabels: Set<String> {
            Set(legendFormat.matches(of: /\{\{([a-z_]+)\}\}/).map { String($0.1) })
        }
    }

    struct Variable: Decodable {
        struct Query: Decodable {
            var query: String
        }

        var name: String
        var type: String
        /// Of a data source it is its type, a text.
        var query: Query?

        private enum Key: CodingKey {
            case name, type, query
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            name = try values.decode(String.self, forKey: .name)
            type = try values.decode(String.self, forKey: .type)
            query = type == "query" ? try values.decode(Query.self, forKey: .query) : nil
        }
    }

    private struct Templating: Decodable {
        var list: [Variable]
    }

    var panels: [Panel]
    private var templating: Templating

    var variables: [Variable] { templating.list }

    /// By file.
    static func all() throws -> [String: Dashboard] {
        let directory = Repository.top.appending(path: folder)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".json") }
        let pairs = try files.map { file in
            (file, try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: directory.appending(path: file))))
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    /// A query with values for its variables; those that are left would be unknown to Grafana, too.
    static func query(_ text: String, with values: [String: String]) -> String {
        values.sorted { $0.key.count > $1.key.count }.reduce(text) { $0.replacing("$\($1.key)", with: $1.value) }
    }

    /// The selector and the label in `label_values(selector, label)`.
    static func labelValues(_ query: String) throws -> (selector: String, label: String) {
        let match = try #require(query.wholeMatch(of: /label_values\((.+), ([a-z_]+)\)/), "\(query)")
        return (String(match.1), String(match.2))
    }
}
