import APNsProtocol
import Foundation
import PushSchemas
import TestSupport
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// The rules of `belfry plan`, each by itself.
@Suite struct CapacityPlanTests {
    private func plan(
        rate: Int = 50_000,
        tokens: Int = 10_000_000,
        topics: Int = 20,
        _ change: (inout CapacityDemand) -> Void = { _ in }
    ) throws(ToolError) -> CapacityPlan {
        var demand = CapacityDemand(rate: rate, tokens: tokens, topics: topics)
        change(&demand)
        return try CapacityPlan(demand)
    }

    private func isNear(_ value: Double, _ other: Double) -> Bool { abs(value - other) < 1e-9 }

    @Test("A notification costs a worker what was measured, a record's share the less the more tokens share it")
    func cost() throws {
        #expect(isNear(try plan { $0.transport = .binary }.cpuMicroseconds, 2.4))
        #expect(isNear(try plan { ($0.transport, $0.asksRedis) = (.binary, true) }.cpuMicroseconds, 4.6))
        #expect(isNear(try plan { ($0.transport, $0.tokensPerRecord) = (.binary, 500) }.cpuMicroseconds, 0.6036))
        #expect(isNear(try plan { $0.tokensPerRecord = 500 }.cpuMicroseconds, 3.3036))
        #expect(isNear(try plan().cpuMicroseconds, 5.1))
        #expect(isNear(try plan { $0.isLocalized = true }.cpuMicroseconds, 5.2))
        #expect(try plan { ($0.cpuMicroseconds, $0.asksRedis) = (7, true) }.cpuMicroseconds == 7)
    }

    @Test("Workers are twice as many as the load keeps busy, and two at least: one may be gone")
    func workers() throws {
        #expect(try plan(rate: 1).workers == 2)
        // A hundred thousand at 10 us are one core: two shards, one process would be enough.
        #expect(try plan(rate: 100_000) { $0.cpuMicroseconds = 10 }.workers == 2)
        #expect(try plan(rate: 200_000) { $0.cpuMicroseconds = 10 }.workers == 2)
        #expect(try plan(rate: 200_001) { $0.cpuMicroseconds = 10 }.workers == 3)
        let many = try plan(rate: 1_000_000) { ($0.cpuMicroseconds, $0.shards) = (10, 8) }
        #expect(many.workers == 3 && many.cores == 24 && isNear(many.busyCores, 10))
        // Without one of them the others have no more than they can do.
        for rate in [1, 50_000, 777_777, 3_000_000] {
            let plan = try plan(rate: rate)
            #expect(plan.busyCores <= Double((plan.workers - 1) * plan.demand.shards))
        }
    }

    @Test("A worker's memory is that of its shards, of its filter up to its limit, and of the rest of the process")
    func memory() throws {
        let settings = WorkerSettings()
        let rest = 256 << 20
        let few = try plan(tokens: 1) { $0.shards = 3 }
        #expect(few.workerMemoryBytes == 3 * settings.shardMemoryBytes + rest)
        let tenth = try plan(tokens: 10_000_000)
        #expect(tenth.workerMemoryBytes == 2 * settings.shardMemoryBytes + 22_000_000 + rest)
        let all = try plan { $0.deadTokens = 10_000_000_000 }
        #expect(all.workerMemoryBytes == 2 * settings.shardMemoryBytes + settings.filterMemoryBytes + rest)
    }

    @Test("Each lane has shards, connections and Kafka clients of its own, and shares cores and the shards' memory")
    func lanes() throws {
        let one = try plan()
        let all = try plan { $0.lanes = [.urgent, .normal, .bulk] }
        #expect(one.shardsPerWorker == 2 && all.shardsPerWorker == 6)
        #expect(all.cores == one.cores && all.workers == one.workers && all.partitions == one.partitions)
        #expect(all.mostConnectionsPerWorker == 3 * one.mostConnectionsPerWorker && all.connections == one.connections)
        #expect(all.workerMemoryBytes == one.workerMemoryBytes + 2 * MeasuredFigures.otherMemoryBytes)
        #expect(all.workerRate == one.workerRate && all.kedaThreshold == one.kedaThreshold)
        #expect(all.text.contains(" 6  lanes: urgent, normal, bulk; each a thread"))
        #expect(all.text.contains("of each of push.requests.urgent, push.requests, push.requests.bulk; 12 workers"))
        #expect(one.text.contains(" 2  lanes: normal; ") && one.text.contains(" 24  of push.requests; 12 workers"))
        #expect(try plan { $0.lanes = [.bulk] }.text.contains("  of push.requests.bulk; 12 workers at most have work"))
        #expect(throws: ToolError.invalidInput(["--lanes: found 0; allowed: 1...3"])) { try plan { $0.lanes = [] } }
    }

    @Test("Partitions are four for each shard, in twelves, and enough for what is not settled of one topic")
    func partitions() throws {
        #expect(try plan(rate: 1).partitions == 24)
        #expect(try plan(rate: 1) { $0.shards = 1 }.partitions == 12)
        let more = try plan(rate: 200_001) { $0.cpuMicroseconds = 10 }
        #expect(more.cores == 6 && more.partitions == 24 && more.mostWorkers == 12)
        // Two seconds of silence and the way there: 10.5 million are not settled, and may be half of the credit.
        let silent = try plan(rate: 5_000_000) {
            ($0.transport, $0.cpuMicroseconds, $0.roundTripMilliseconds) = (.binary, 0.02, 100)
        }
        #expect(silent.cores == 4 && silent.partitions == 48)
        #expect(try plan(rate: 1) { $0.shards = 256 }.mostWorkers == 8)
    }

    @Test("An app that one key cannot carry has several keys for each partition, and what binds a key is told")
    func keys() throws {
        // Two connections of its shard carry 16,350 a second.
        let small = try plan(rate: 16_350, topics: 1)
        #expect(small.spread == 1 && small.keyRate == .init(notifications: 16_350, bound: .connections))
        let large = try plan(rate: 33_334, topics: 1)
        #expect(large.spread == 4 * large.partitions && large.text.contains("apps.<bundle>.spread: 96; one carries"))
        let slow = try plan(rate: 5001) { $0.cpuMicroseconds = 100 }
        #expect(slow.spread > 1 && slow.keyRate == .init(notifications: 5000, bound: .cpu))
    }

    @Test("A send is planned by the rate that ends it in time, with disk for itself alone")
    func send() throws {
        var demand = CapacityDemand(send: .init(notifications: 20_000_001, seconds: 600), tokens: 20_000_000, topics: 1)
        demand.tokensPerRecord = 500
        let send = try CapacityPlan(demand)
        #expect(demand.rate == 33_334)
        #expect(send.kafkaDiskBytes == 40_001 * send.recordBytes * 3)
        #expect(send.text.contains("of the one send") && !send.text.contains("24 hours"))
        let never = CapacityDemand(send: .init(notifications: 0, seconds: .max), tokens: 1, topics: 1)
        #expect(never.faults.map { $0.prefix { $0 != ":" } } == ["--notifications", "--within"])
        let fast = CapacityDemand(send: .init(notifications: 10_000_001, seconds: 1), tokens: 1, topics: 1)
        #expect(fast.faults == ["--notifications in --within: 10000001 a second; allowed: 1...10000000"])
    }

    @Test("Over HTTP/2 a connection carries its window, or its streams, in a round trip")
    func streams() throws {
        // 327 bodies of 200 bytes in 65,535 bytes, 25 times a second.
        #expect(try plan().connectionRate == 8175)
        #expect(try plan { $0.payloadBytes = 20 }.connectionRate == 25_000)
        #expect(try plan { ($0.payloadBytes, $0.roundTripMilliseconds) = (5120, 10_000) }.connectionRate == 1)
        let text = try Repository.text(of: "Deploy/RUN.md").replacing("\n", with: " ")
        #expect(text.contains(/about 8,000\s+notifications of 200 bytes a second and connection at 40 ms/))
    }

    @Test("Over the binary interface a connection carries what may be in flight, in a confirmation window")
    func silence() throws {
        let small = try plan { ($0.transport, $0.payloadBytes, $0.roundTripMilliseconds) = (.binary, 100, 100) }
        #expect(small.connectionRate == WorkerSettings().inFlightPerConnection * 10 / 21)
        let large = try plan { ($0.transport, $0.payloadBytes, $0.roundTripMilliseconds) = (.binary, 2048, 100) }
        let inFlight = WorkerSettings().inFlightBytes / (2048 + 61)
        #expect(large.connectionRate == inFlight * 10 / 21)
    }

    @Test("Connections bear the rate, and a topic may open as many as it needs if it sends everything")
    func connections() throws {
        let small = try plan(rate: 8175)
        #expect(small.connections == 1 && small.connectionsPerTopic == 2)
        #expect(small.mostConnectionsPerWorker == 20 * 2 * 2)
        let large = try plan(rate: 81_750)
        #expect(large.connections == 10 && large.cores == 4 && large.connectionsPerTopic == 3)
        #expect(large.mostConnectionsPerWorker == 20 * 2 * 3)
    }

    @Test("KEDA's threshold is what a worker sends in half a minute, bound by its connections or its cores")
    func scaling() throws {
        let connections = try plan()
        #expect(connections.workerRate == .init(notifications: 2 * 2 * 8175, bound: .connections))
        #expect(connections.kedaThreshold == 30 * 2 * 2 * 8175)
        #expect(try plan { $0.tokensPerRecord = 500 }.kedaThreshold == 30 * 2 * 2 * 8175 / 500)
        let cores = try plan { $0.cpuMicroseconds = 100 }
        #expect(cores.workerRate == .init(notifications: 20_000, bound: .cpu) && cores.kedaThreshold == 600_000)
        #expect(try plan { ($0.cpuMicroseconds, $0.tokensPerRecord) = (100, 20_000) }.kedaThreshold == 30)
    }

    @Test("Redis takes 64 bytes a token, and twice that while it rewrites its log")
    func redis() throws {
        let plan = try plan(tokens: 1_000_000)
        #expect(plan.redisBytes == 64_000_000 && plan.redisMachineBytes == 128_000_000)
    }

    @Test("The network to the gateways bears frames or requests, and what is around them")
    func gateways() throws {
        // 320 bytes are 2,560 bits.
        #expect(try plan(rate: 1000).gatewayBitsPerSecond == 2_739_200)
        let binary = try plan(rate: 1000) { $0.transport = .binary }
        #expect(NotificationFrame.command2Bytes(tokenBytes: 32, payloadBytes: 200) == 261)
        #expect(binary.gatewayBitsPerSecond == 2_234_160)
    }

    @Test("Kafka's network and disk bear each record once for every copy")
    func kafka() throws {
        let plan = try plan(rate: 1000) { ($0.tokensPerRecord, $0.retentionHours, $0.replication) = (10, 2, 3) }
        #expect(plan.recordsPerSecond == 100 && plan.recordBytes == 200 + 320 + 120)
        // 64,000 bytes a second: in, to two other replicas, and out.
        #expect(plan.kafkaBitsPerSecond == 2_191_360)
        #expect(plan.kafkaDiskBytes == 1_382_400_000)
        #expect(try self.plan(rate: 11) { $0.tokensPerRecord = 10 }.recordsPerSecond == 2)
    }

    @Test("A record takes about as many bytes as planned", arguments: [1, 20, 500])
    func record(tokens: Int) throws {
        let request = PushSendRequest.with {
            $0.requestID = UUID().uuidString
            $0.payloadJson = #"{"aps":{"alert":"\#(String(repeating: "x", count: 200 - 20))"}}"#
            $0.packedTokens = Data(count: 32 * tokens)
        }
        #expect(request.payloadJson.utf8.count == 200)
        // The key, and Kafka's own lengths and numbers.
        let value: [UInt8] = try request.serializedBytes()
        let bytes = value.count + "com.example.news/17".utf8.count + 20
        let planned = try plan { $0.tokensPerRecord = tokens }.recordBytes
        #expect(planned >= bytes && planned * 8 <= bytes * 10)
    }

    @Test("Values out of their ranges are all told, with what is allowed, and nothing is planned")
    func faults() {
        #expect(throws: ToolError.invalidInput(["--rate: found 0; allowed: 1...10000000"])) { try plan(rate: 0) }
        let demand = { (demand: inout CapacityDemand) in
            demand.payloadBytes = -1
            demand.roundTripMilliseconds = .max
            demand.tokensPerRecord = 0
            demand.shards = 257
            demand.replication = 10
            demand.retentionHours = .min
            demand.deadTokens = -1
            demand.cpuMicroseconds = .nan
        }
        let error = #expect(throws: ToolError.self) { try plan(rate: .max, tokens: -1, topics: 0, demand) }
        guard case .invalidInput(let lines)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let options = lines.map { $0.prefix { $0 != ":" } }
        #expect(
            options == [
                "--rate", "--tokens", "--apps", "--tokens-per-record", "--payload-bytes", "--round-trip-ms",
                "--dead-tokens", "--shards", "--replication", "--retention-hours", "--cpu-us",
            ]
        )
        #expect(lines.allSatisfy { $0.contains("; allowed: ") })
        for figure in [0, -1, 100.1, .infinity] {
            #expect(throws: ToolError.self) { try plan { $0.cpuMicroseconds = figure } }
        }
    }

    @Test("The smallest and the largest demand have a plan, within what Kafka topics can have")
    func extremes() throws {
        for transport in CapacityDemand.Transport.allCases {
            for cpu in [0.01, 100] {
                for rest in [1, 20_000] {
                    let largest = try plan(rate: 10_000_000, tokens: 100_000_000_000, topics: 1_000_000) {
                        $0.transport = transport
                        $0.tokensPerRecord = rest
                        $0.payloadBytes = 5120
                        $0.roundTripMilliseconds = 10_000
                        $0.deadTokens = 100_000_000_000
                        $0.cpuMicroseconds = cpu
                        $0.shards = 256
                        $0.replication = 9
                        $0.retentionHours = 2160
                    }
                    #expect(largest.partitions <= 10_000 && !largest.text.isEmpty && !largest.json.isEmpty)
                }
            }
            let smallest = try plan(rate: 1, tokens: 1, topics: 1) {
                ($0.transport, $0.payloadBytes, $0.roundTripMilliseconds, $0.shards) = (transport, 1, 1, 1)
                ($0.deadTokens, $0.replication, $0.retentionHours) = (0, 1, 1)
            }
            #expect(smallest.workers == 2 && smallest.connections == 1 && smallest.kedaThreshold >= 1)
        }
    }

    @Test("A plan is printed in columns, and as one line of JSON with the same numbers")
    func forms() throws {
        let plan = try plan()
        let lines = plan.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 13)
        let widths = Set(lines.map { $0.matches(of: /\s\s+/).count })
        #expect(widths.allSatisfy { $0 >= 2 })
        #expect(lines[0].hasPrefix("worker processes ") && lines[0].contains(" 2  worker.shards: 2"))
        // 136,960,000 bits, rounded up.
        #expect(plan.text.contains(" 137.0 Mbit/s  ") && plan.gatewayBitsPerSecond == 136_960_000)
        let object = try JSONSerialization.jsonObject(with: Data(plan.json.utf8)) as? [String: Any]
        let values = try #require(object)
        #expect(values["worker_processes"] as? Int == 2 && values["partitions"] as? Int == plan.partitions)
        #expect(values["worker_bound"] as? String == "connections" && values.count == 23)
        #expect(!plan.json.contains("\n"))
    }
}
