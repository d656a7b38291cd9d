import TestSupport
import Testing

@testable import BelfryTools

/// Deploy/CAPACITY.md beside the figures and rules that plans are made by.
@Suite struct CapacityDocumentTests {
    private static let path = "Deploy/CAPACITY.md"

    private func cells(_ row: Substring) -> [String] {
        row.split(separator: "|").map { cell in
            String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// As prose has it: 2.4, 2, 0.24.
    private func text(_ figure: Double) -> String {
        figure == figure.rounded() ? "\(Int(figure))" : "\(figure)"
    }

    /// In groups of three digits.
    private func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in "\(number)".reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    @Test("The document's table of measurements has the scenarios and figures that the plan uses, and no other")
    func measurements() throws {
        let rows = try Document(path: Self.path).rows(ofTablesOf: "scenario").dropFirst(2).map(cells)
        #expect(rows.map { $0[0] } == MeasuredFigures.scenarios.map(\.name))
        for (row, scenario) in zip(rows, MeasuredFigures.scenarios) {
            #expect(row[3] == text(scenario.cpuMicroseconds), "\(scenario.name)")
            #expect(row[4] == grouped(scenario.perCoreSecond), "\(scenario.name)")
        }
    }

    @Test("The document's rules name every constant of the plan")
    func rules() throws {
        let document = try Document(path: Self.path)
        let rules = Dictionary(
            uniqueKeysWithValues: document.rows(ofTablesOf: "what").dropFirst(2).map(cells).map { ($0[0], $0[1]) }
        )
        func expect(_ rule: String, _ words: String...) throws {
            let told = try #require(rules[rule], "no rule for \(rule)")
            for word in words { #expect(told.contains(word), "\(rule): \(word)") }
        }
        func rounded(_ figure: Double) -> String { text((figure * 100).rounded() / 100) }
        typealias Figures = MeasuredFigures
        try expect(
            "CPU of a notification",
            "interface \(text(Figures.fanOut.cpuMicroseconds)) µs",
            "HTTP/2 \(text(Figures.http2.cpuMicroseconds)) µs",
            "+ \(rounded(Figures.single.cpuMicroseconds - Figures.fanOut.cpuMicroseconds)) µs / tokens",
            "+ \(rounded(Figures.singleLookup.cpuMicroseconds - Figures.single.cpuMicroseconds)) µs if each",
            "+ \(rounded(Figures.twelveLanguages.cpuMicroseconds - Figures.oneLanguage.cpuMicroseconds)) µs if the"
        )
        try expect("cores", "/ \(text(CapacityPlan.utilization))")
        try expect("worker processes", "\(CapacityPlan.fewestWorkers) at least")
        try expect(
            "memory of a worker",
            "\(Figures.filterBytesPerDeadToken) bytes × dead",
            "\(Figures.otherMemoryBytes >> 20) MiB × lanes"
        )
        try expect(
            "partitions of `push.requests`",
            "\(CapacityPlan.partitionsPerShard) × shards",
            "\(CapacityPlan.creditShare) × rate"
        )
        #expect(CapacityPlan.partitionStep == 12)
        try expect(
            "keys of the busiest app (`apps.<bundle>.spread`)",
            "else \(CapacityPlan.keysPerPartition) × partitions",
            "smaller of \(text(CapacityPlan.utilization)) / µs"
        )
        try expect(
            "rate of a connection, HTTP/2",
            "\(grouped(CapacityPlan.streams)) streams",
            "\(grouped(CapacityPlan.windowBytes)) bytes"
        )
        try expect("KEDA's threshold", "\(CapacityPlan.scalingSeconds) s")
        try expect("Redis", "\(Figures.redisBytesPerToken) bytes")
        let framing = "1.0\(CapacityPlan.framingPercent)"
        try expect(
            "network to the gateways",
            "\(CapacityPlan.binaryOverheadBytes) bytes of a frame",
            "\(CapacityPlan.http2OverheadBytes) of a request",
            framing
        )
        try expect(
            "network of Kafka",
            "\(CapacityPlan.tokenBytes) bytes × tokens",
            "+ \(CapacityPlan.recordOverheadBytes)",
            framing
        )
    }

    @Test("The bytes in memory that the document tells are those of the plan")
    func memory() throws {
        let rows = try Document(path: Self.path).rows(ofTablesOf: "memory").dropFirst(2).map(cells)
        let figures = [MeasuredFigures.redisBytesPerToken, MeasuredFigures.filterBytesPerDeadToken]
        #expect(rows.map { $0[1] } == figures.map { "\($0)" })
    }

    @Test("The document's example of a plan is what the command prints, and its defaults are those of a demand")
    func example() throws {
        let document = try Repository.text(of: Self.path)
        let command = try #require(document.firstMatch(of: /belfry plan --rate (\d+) --tokens (\d+) --apps (\d+)\n/))
        let numbers = try [command.1, command.2, command.3].map { try #require(Int($0)) }
        let demand = CapacityDemand(rate: numbers[0], tokens: numbers[1], topics: numbers[2])
        let text = try CapacityPlan(demand).text
        #expect(document.contains("```\n\(text)\n```"), "\(text)")

        let rows = try Document(path: Self.path).rows(ofTablesOf: "option of `plan`").map(cells)
        let defaults = [
            "--transport NAME": "`\(demand.transport)`", "--tokens-per-record N": "\(demand.tokensPerRecord)",
            "--payload-bytes N": "\(demand.payloadBytes)", "--round-trip-ms N": "\(demand.roundTripMilliseconds)",
            "--shards N": "\(demand.shards)", "--replication N": "\(demand.replication)",
            "--retention-hours N": "\(demand.retentionHours)",
            "--lanes LANE,…": "`\(demand.lanes.sorted().map(\.rawValue).joined(separator: ","))`",
        ]
        for (option, value) in defaults {
            #expect(rows.contains { $0[0] == "`\(option)`" && $0[1] == value }, "\(option): \(value)")
        }
    }
}
