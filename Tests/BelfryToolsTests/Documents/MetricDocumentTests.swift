import Foundation
import PipelineCore
import TestSupport
import Testing

@testable import BelfrySupport
@testable import Sender
@testable import TokenRoles

/// Deploy/MONITORING.md beside what the operations endpoint of each role answers.
@Suite struct MetricDocumentTests {
    @Test("Every metric that the code declares stands in a table of Deploy/MONITORING.md")
    func metricsAreDocumented() throws {
        let declared = try Repository.declaredMetrics()
        let documented = try Document(path: "Deploy/MONITORING.md").firstCells.reduce(into: Set<String>()) {
            $0.formUnion(Document.metrics(in: $1))
        }
        #expect(declared.count > 60, "\(declared.sorted())")
        #expect(declared.subtracting(documented).sorted() == [], "declared, but not documented")
    }

    @Test("Every metric that a document names is declared in the code")
    func metricsExist() throws {
        let declared = try Repository.declaredMetrics()
        var named = 0
        for document in try Repository.documents() {
            let metrics = Document.metrics(in: document.text)
            #expect(metrics.subtracting(declared).sorted() == [], "\(document.path)")
            named += metrics.count
        }
        #expect(named >= declared.count)
    }

    @Test("Each role's table in Deploy/MONITORING.md names the metrics that its /metrics gives, and no others")
    func roles() throws {
        let document = try Document(path: "Deploy/MONITORING.md")
        let everyRole =
            RoleHealth().metrics(now: .init(nanoseconds: 0)) + Readiness.table.families(of: [])
            + ProcessMetrics.table.families(of: [.init(figures: nil, role: "worker")])
            + ReloadDesk.table.families(of: [])
        let roles = [
            ("Every role", everyRole), ("Worker", WorkerMetrics.table.families(of: [])),
            ("Registrar", RegistrarMetrics.table.families(of: [])),
            ("Harvester", HarvesterMetrics.table.families(of: [])),
        ]
        for (heading, families) in roles {
            let given = Set(families.map(\.name))
            let documented = document.rows(under: heading).map(Document.firstCell)
                .reduce(into: Set<String>()) { $0.formUnion(Document.metrics(in: $1)) }
            #expect(documented.subtracting(given).sorted() == [], "\(heading): documented, but not given")
            #expect(given.subtracting(documented).sorted() == [], "\(heading): given, but not documented")
            #expect(given.count == families.count, "\(heading): a name stands for two metrics")
        }
    }

    @Test("A metric's name tells its kind: counters end in total, histograms in their unit")
    func names() {
        let families =
            WorkerMetrics.table.families(of: []) + RegistrarMetrics.table.families(of: [])
            + HarvesterMetrics.table.families(of: []) + RoleHealth().metrics(now: .init(nanoseconds: 0))
        for family in families {
            #expect(family.name.hasSuffix("_total") == (family.kind == .counter), "\(family.name)")
            #expect(family.kind != .histogram || family.name.hasSuffix("_seconds"), "\(family.name)")
        }
    }

    @Test("The example of a status in Deploy/MONITORING.md is one, and all of it is understood")
    func status() throws {
        let text = try Repository.text(of: "Deploy/MONITORING.md")
        let begin = try #require(text.range(of: "```json\n"))
        let end = try #require(text.range(of: "\n```", range: begin.upperBound..<text.endIndex))
        let example = Data(text[begin.upperBound..<end.lowerBound].utf8)
        let status = try JSONDecoder().decode(RoleStatus.self, from: example)
        #expect(status.version == RoleStatus.currentVersion)
        #expect(!status.topics.isEmpty && !status.partitions.isEmpty && !status.gateways.isEmpty)
        #expect(!status.certificates.isEmpty && !status.keys.isEmpty && !status.harvests.isEmpty)
        #expect(status.configuration?.restartNeeded.isEmpty == false && status.controlsAgeSeconds != nil)
        #expect(status.scaling != nil && status.process != nil && status.uptimeSeconds != nil)
        // A key that is not understood would be lost on the way back.
        let there = try JSONSerialization.jsonObject(with: example) as? NSDictionary
        let back = try JSONSerialization.jsonObject(with: JSONEncoder().encode(status)) as? NSDictionary
        #expect(there != nil && there == back)
    }
}
