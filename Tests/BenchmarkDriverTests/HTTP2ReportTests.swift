import Foundation
import Testing

@testable import belfry_bench

@Suite("The report on HTTP/2")
struct HTTP2ReportTests {
    private func report(
        rates: [Double] = [300_000],
        loadRates: [Double] = [330_000],
        cpu: [Double] = [3.2],
        loadCPU: [Double] = [2.5],
        sandbox: [Double] = [2.5],
        server: [Double] = [2.2]
    ) -> HTTP2Report {
        var report = HTTP2Report(notifications: 1000, connections: 1, streams: 1000)
        for value in rates { report.worker.rate.add(value) }
        for value in loadRates { report.load.rate.add(value) }
        for value in cpu { report.worker.cpuMicroseconds.add(value) }
        for value in loadCPU { report.load.cpuMicroseconds.add(value) }
        for value in sandbox { report.sandboxMicroseconds.add(value) }
        for value in server { report.serverMicroseconds.add(value) }
        return report
    }

    @Test("The ratios are medians of the rounds' ratios; the sandbox's is one of requests per second of CPU time")
    func ratios() {
        let report = report(
            rates: [100, 300, 200],
            loadRates: [200, 300, 250],
            cpu: [3, 6, 9],
            loadCPU: [3, 3, 3],
            sandbox: [4, 4, 4],
            server: [2, 3, 1]
        )
        #expect(report.loadRatio == 0.8)
        #expect(report.cpuRatio == 2)
        #expect(report.sandboxRatio == 0.5)
    }

    @Test("Without a miss nothing is said, and every target that is missed is named")
    func targets() {
        #expect(report().missedTargets.isEmpty)
        #expect(report(rates: [250_000]).missedTargets == ["0.8 times h2load's rate"])
        #expect(report(cpu: [4]).missedTargets == ["1.5 times h2load's CPU time"])
        #expect(report(sandbox: [3]).missedTargets.count == 1)
    }

    @Test("The line is JSON with the fields that callers read")
    func line() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report().line().utf8))
        let fields = try #require(object as? [String: Any])
        #expect(HTTP2Report.fields.unexplained(fields.keys) == [])
        #expect(fields["h2load_ratio"] as? Double == 0.91)
        #expect(fields["worker_cpu_us"] as? Double == 3.2)
        #expect(fields["cpu_ratio"] as? Double == 1.28)
        #expect(fields["sandbox_ratio"] as? Double == 0.88)
        #expect(fields["rate_spread"] as? [Int] == [300_000, 300_000])
    }

    @Test("Of h2load's words its rate, its successes and the connection's cipher are taken")
    func summary() throws {
        let output = """
            starting benchmark...
            TLS Protocol: TLSv1.3
            Cipher: TLS_AES_256_GCM_SHA384
            Application protocol: h2
            progress: 100% done

            finished in 277.35ms, 180279.58 req/s, 4.65MB/s
            requests: 50000 total, 50000 started, 50000 done, 49990 succeeded, 10 failed, 0 errored, 0 timeout
            status codes: 49990 2xx, 0 3xx, 10 4xx, 0 5xx

            """
        let summary = try HTTP2Load.Summary(output)
        #expect(summary.succeeded == 49_990)
        #expect(summary.rate == 180_279.58)
        #expect(summary.version == "TLSv1.3")
        #expect(summary.cipher == "TLS_AES_256_GCM_SHA384")
        #expect(throws: BenchmarkError.self) { try HTTP2Load.Summary("cannot connect") }
    }

    @Test("Payloads of records and of h2load have 110 bytes, whatever the number", arguments: [0, 1, 1_000_000])
    func payload(number: Int) throws {
        #expect(try RequestRecords.payload(number).count == 110)
    }
}
