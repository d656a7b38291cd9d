import Foundation
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    /// The dashboards of Deploy/grafana, before a Prometheus that scrapes a worker, a registrar and a harvester.
    struct DashboardTests {
        @Test("A Prometheus that scrapes the roles answers every query of the dashboards, about metrics they have")
        func queries() async throws {
            try await withPipeline { options in
                options.transport = .http2
                options.topics = [news, "com.example.sport"]
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let roles = [
                    "belfry-worker": try OperationsClient(of: try pipeline.startWorker(), kafka),
                    "belfry-registrar": try OperationsClient(of: try pipeline.startRegistrar(), kafka),
                    "belfry-harvester": try OperationsClient(of: try pipeline.startHarvester(), kafka),
                ]
                try publish(pipeline, kafka)

                let targets = roles.mapValues(\.address)
                let prometheus = try PrometheusServer(targets: targets, directory: pipeline.directory)
                defer { prometheus.stop() }
                try await waitForScrapes(of: targets.count, prometheus, kafka)
                var series: Set = ["up"]
                for role in roles.values { series.formUnion(try await role.seriesNames()) }
                let judge = QueryJudge(
                    series: series,
                    labels: try await prometheus.labels(),
                    sampled: try await prometheus.values(of: "__name__")
                )
                try await check(try Dashboard.all(), judge, prometheus)
            }
        }

        /// Something of everything that has a label of its own: acceptances and refusals by key and by certificate, a
        /// registration, a tuple of feedback.
        private func publish(_ pipeline: LocalPipeline, _ kafka: PipelineClient) throws {
            let strange = [UInt8](repeating: 0x5A, count: 32)
            for topic in pipeline.options.topics {
                let tokens = try pipeline.tokens(of: topic, first: 0, count: 4)
                var records = Records(tokens: tokens)
                try kafka.deliver(try records.record(key: topic, to: tokens + [strange]))
                try kafka.register(tokens, bundleID: topic, at: unixSeconds())
                try kafka.publishFeedback(tokens[0], bundleID: topic, at: unixSeconds() - 600)
            }
        }

        private func waitForScrapes(
            of count: Int,
            _ prometheus: PrometheusServer,
            _ kafka: PipelineClient
        ) async throws {
            let deadline = ContinuousClock.now + patience
            while ContinuousClock.now < deadline {
                try #require(prometheus.isRunning, "\(prometheus.log)")
                // A rate needs two scrapes of a series; the harvester's lists come a little later than it starts.
                let answer = try? await prometheus.ask("count(sum_over_time(up[1m]) >= 6)")
                if answer?.data?.result.first?.value == "\(count)" { return }
                kafka.pump(timeoutMilliseconds: 20)
            }
            throw ChildProcess.Failure(description: "not all roles were scraped: \(prometheus.log)")
        }

        private func check(
            _ dashboards: [String: Dashboard],
            _ judge: QueryJudge,
            _ prometheus: PrometheusServer
        ) async throws {
            let values = [
                "job": "belfry.*", "app": news, "environment": ".+", "__rate_interval": "1m", "datasource": "",
            ]
            var count = 0
            for (file, dashboard) in dashboards.sorted(by: { $0.key < $1.key }) {
                for variable in dashboard.variables {
                    guard let query = variable.query else { continue }
                    let (selector, label) = try Dashboard.labelValues(Dashboard.query(query.query, with: values))
                    #expect(judge.faults(of: QueryNames(of: selector)) == [], "\(file): $\(variable.name)")
                    let found = try await prometheus.values(of: label, in: selector)
                    #expect(!found.isEmpty, "\(file): $\(variable.name) has no values")
                }
                for panel in dashboard.panels {
                    for target in panel.targets ?? [] {
                        count += 1
                        let query = Dashboard.query(target.expr, with: values)
                        #expect(!query.contains("$"), "\(file), \(panel.title): \(query)")
                        let names = QueryNames(of: query)
                        #expect(judge.faults(of: names) == [], "\(file), \(panel.title): \(query)")
                        let answer = try await prometheus.ask(query)
                        #expect(answer.status == "success", "\(file), \(panel.title): \(query): \(answer.error ?? "")")
                        #expect(answer.warnings ?? [] == [], "\(file), \(panel.title): \(query)")
                        let result = answer.data?.result ?? []
                        #expect(!result.isEmpty || !judge.hasSamples(names), "\(file), \(panel.title): \(query): none")
                        let shown = result.reduce(into: Set<String>()) { $0.formUnion($1.metric.keys) }
                        #expect(
                            result.isEmpty || target.legendLabels.isSubset(of: shown),
                            "\(file), \(panel.title): \(target.legendFormat)"
                        )
                    }
                }
            }
            #expect(count > 100)
        }

        @Test("A misspelt metric, a histogram without its suffix, and a label that nothing has are faults of a query")
        func faults() {
            let judge = QueryJudge(
                series: ["belfry_lag_records", "belfry_round_seconds_bucket"],
                labels: ["job", "le"],
                sampled: ["belfry_lag_records"]
            )
            func faults(_ query: String) -> [String] { judge.faults(of: QueryNames(of: query)) }
            #expect(faults("sum by (job) (belfry_lag_records)") == [])
            #expect(faults("rate(belfry_round_seconds_bucket[5m])") == [])
            #expect(faults("sum(belfry_lags_records)") == ["no metric belfry_lags_records"])
            #expect(faults("blefry_lag_records > 1") == ["no metric blefry_lag_records"])
            #expect(faults("belfry_round_seconds") == ["no metric belfry_round_seconds"])
            #expect(faults("sum by (jobs) (belfry_lag_records)") == ["no label jobs"])
            #expect(faults(#"belfry_lag_records{partitoin="1"}"#) == ["no label partitoin"])
            #expect(faults("vector(0)") == ["no metric at all"])
            #expect(judge.hasSamples(QueryNames(of: "belfry_lag_records")))
            #expect(!judge.hasSamples(QueryNames(of: "belfry_lag_records / belfry_round_seconds_bucket")))
        }

        @Test("The names of a query are its metrics and labels, not functions, operators, texts and durations")
        func names() {
            func expect(_ query: String, _ metrics: Set<String>, _ labels: Set<String> = []) {
                #expect(QueryNames(of: query) == QueryNames(metrics: metrics, labels: labels))
            }
            expect(#"topk(10, time() - min by (topic) (a_b{job=~"c.*"}))"#, ["a_b"], ["job", "topic"])
            expect("sum(rate(a[5m])) / 1e9 or vector(0)", ["a"])
            expect("a offset 1d and on (x, y) b unless ignoring(z) c", ["a", "b", "c"], ["x", "y", "z"])
            expect("a * on (x) group_left (y) b", ["a", "b"], ["x", "y"])
            expect(#"{__name__=~"a|b", job="c"}"#, ["a", "b"], ["job"])
            expect("sum(a) by (x) == bool 1", ["a"], ["x"])
        }
    }
}

/// Tells the faults of the names in a query.
private struct QueryJudge {
    /// The names of all series that the roles can have.
    var series: Set<String>
    /// The labels that series have.
    var labels: Set<String>
    /// The names of series that have samples.
    var sampled: Set<String>

    func faults(of names: QueryNames) -> [String] {
        if names.metrics.isEmpty { return ["no metric at all"] }
        return names.metrics.subtracting(series).sorted().map { "no metric \($0)" }
            + names.labels.subtracting(labels).sorted().map { "no label \($0)" }
    }

    func hasSamples(_ names: QueryNames) -> Bool { names.metrics.isSubset(of: sampled) }
}
