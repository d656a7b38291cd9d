import Testing

@testable import BelfrySupport
@testable import PipelineCore
@testable import PipelineTestSupport
@testable import TokenRoles

@Suite struct RegistrarMetricsTests {
    private func report(_ change: (inout RegistrarReport) -> Void = { _ in }) -> RegistrarReport {
        var applied = RecordApplier.Counters()
        applied.applied = 5
        applied.deadLetters = 2
        applied.tombstones = 3
        applied.refused = ["token-length": 2]
        var sweep = RetentionSweep.Counters()
        sweep.lookedAt = 7
        sweep.swept = [.tombstone: 4]
        sweep.completed = 1
        sweep.lastCompleted = 1_700_000_000
        var report = RegistrarReport(
            applied: applied,
            pendingTombstones: 1,
            partitions: [.init(number: 0, lagRecords: 9), .init(number: 1, lagRecords: nil)],
            isRedisReady: true,
            isInGroup: true,
            sweep: .init(counters: sweep, hasLease: true)
        )
        report.applied.recordsLost = 11
        report.kept.applied = 4
        report.kept.recordsLost = 1
        report.kept.offsetsBeyondEnd = 1
        change(&report)
        return report
    }

    @Test(
        "Each figure an operator needs has its series",
        arguments: [
            "belfry_registrar_applied_total 5", "belfry_registrar_dead_letters_total 2",
            "belfry_registrar_refused_total{reason=\"token-length\"} 2",
            "belfry_registrar_tombstones_published_total 3", "belfry_registrar_tombstones_kept_total 4",
            "belfry_registrar_unacknowledged_tombstones 1", "belfry_records_lost_total 12",
            "belfry_offsets_beyond_end_total 1",
            "belfry_registrar_assigned_partitions 2", "belfry_registrar_lag_records{partition=\"0\"} 9",
            "belfry_retention_lease_held 1", "belfry_retention_looked_at_total 7",
            "belfry_retention_swept_total{kind=\"tombstone\"} 4", "belfry_retention_swept_total{kind=\"idle\"} 0",
            "belfry_retention_sweeps_total 1", "belfry_retention_last_sweep_timestamp_seconds 1700000000",
        ]
    )
    func series(line: String) {
        let text = MetricsText.render(RegistrarMetrics.table.families(of: [report()]))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains(line))
    }

    @Test("Promtool has nothing to say about a registrar's metrics, whether it sweeps, does not, or has just started")
    func promtool() throws {
        for reports in [[], [report()], [report { $0.sweep = nil }]] {
            let text = MetricsText.render(RegistrarMetrics.table.families(of: reports))
            #expect(try Promtool.complaints(about: text) == "")
        }
    }

    @Test("The status tells the partitions of push.registrations and the work that is done")
    func status() {
        var status = RoleStatus(role: "registrar", now: 0)
        report().describe("push.registrations", in: &status)
        #expect(status.partitions.map(\.number) == [0, 1] && status.partitions[0].lagRecords == 9)
        #expect(status.partitions[0].kafkaTopic == "push.registrations")
        #expect(status.totals == ["applied": 5, "deadLetters": 2, "tombstones": 3])
        #expect(status.scaling == nil)
    }

    @Test("A registrar is ready when it has Redis and a place in its group; one without partitions is too")
    func readiness() {
        #expect(RegistrarRole.readiness([report { $0.partitions = [] }]).isReady)
        #expect(RegistrarRole.readiness([]).obstacles == ["the registrar is starting or stopping"])
        #expect(
            RegistrarRole.readiness([report { $0.isRedisReady = false }]).obstacles == ["the registrar waits for Redis"]
        )
        #expect(
            RegistrarRole.readiness([report { $0.isInGroup = false }]).obstacles
                == ["the registrar waits for its partitions"]
        )
        let neither = report {
            $0.isInGroup = false
            $0.isRedisReady = false
        }
        #expect(RegistrarRole.obstacles([neither]).map(\.dependency) == [.kafka, .redis])
    }
}
