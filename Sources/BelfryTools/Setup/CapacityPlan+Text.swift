import BelfrySupport
import PushTopics

extension CapacityPlan {
    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("worker_processes", workers)
        line.append("most_worker_processes", mostWorkers)
        line.append("cores", cores)
        line.append("busy_millicores", busyMillicores)
        line.append("shards_per_worker", shardsPerWorker)
        line.append("worker_memory_bytes", workerMemoryBytes)
        line.append("partitions", partitions)
        line.append("spread", spread)
        line.append("key_rate", keyRate.notifications)
        line.append("key_bound", keyRate.bound.rawValue)
        line.append("connections", connections)
        line.append("connection_rate", connectionRate)
        line.append("connections_per_topic", connectionsPerTopic)
        line.append("most_connections_per_worker", mostConnectionsPerWorker)
        line.append("worker_rate", workerRate.notifications)
        line.append("worker_bound", workerRate.bound.rawValue)
        line.append("keda_threshold", kedaThreshold)
        line.append("redis_bytes", redisBytes)
        line.append("redis_machine_bytes", redisMachineBytes)
        line.append("gateway_bits_per_second", gatewayBitsPerSecond)
        line.append("records_per_second", recordsPerSecond)
        line.append("kafka_bits_per_second", kafkaBitsPerSecond)
        line.append("kafka_disk_bytes", kafkaDiskBytes)
        return line.text
    }

    /// A line for each part: its name, its size, and what there is to say about it; in columns.
    public var text: String {
        let rows = rows
        let names = rows.map(\.name.count).max() ?? 0
        let sizes = rows.map(\.size.count).max() ?? 0
        return rows.map { row in
            let name = row.name + String(repeating: " ", count: names - row.name.count)
            let size = String(repeating: " ", count: sizes - row.size.count) + row.size
            return "\(name)  \(size)  \(row.note)"
        }
        .joined(separator: "\n")
    }

    private typealias Row = (name: String, size: String, note: String)

    private var rows: [Row] {
        let busy = "\(busyMillicores / 1000).\(Self.padded(busyMillicores % 1000))"
        let perTopic = "worker.connections-per-topic: \(connectionsPerTopic)"
        let threshold = "records that a worker sends in \(Self.scalingSeconds) s; bound: \(workerRate.bound.word)"
        let key = "one carries \(keyRate.notifications) notifications a second; bound: \(keyRate.bound.word)"
        let keys = spread == 1 ? key : "apps.<bundle>.spread: \(spread); \(key)"
        let kept = demand.send == nil ? "\(counted(demand.retentionHours, "hour")) at this rate" : "of the one send"
        let lanes = demand.lanes.sorted()
        let isLone = lanes.count == 1
        let shared = isLone ? "one for each shard" : "one for each shard of a lane, lanes share them"
        let threads = "lanes: \(lanes.map(\.rawValue).joined(separator: ", ")); each a thread, with clients of its own"
        let topics = lanes.map { TopicNames().requests($0) }.joined(separator: ", ")
        let logs = "\(isLone ? "of" : "of each of") \(topics); \(counted(mostWorkers, "worker")) at most have work"
        let copies = "publishers, \(demand.replication - 1) more of each record, workers"
        return [
            ("worker processes", "\(workers)", "worker.shards: \(demand.shards); one process may be gone"),
            ("cores", "\(cores)", "\(shared); the load keeps \(busy) busy"),
            ("shards of a worker", "\(shardsPerWorker)", threads),
            ("memory of a worker", Self.binary(workerMemoryBytes), "the filter of dead tokens included"),
            ("partitions", "\(partitions)", logs),
            ("keys of the busiest app", "\(spread)", keys),
            ("connections", "\(connections)", "\(connectionRate) notifications a second each; \(perTopic)"),
            ("connections of a worker", "\(mostConnectionsPerWorker)", "at most, if no apps share a credential"),
            ("KEDA threshold", "\(kedaThreshold)", threshold),
            ("Redis memory", Self.binary(redisBytes), "\(Self.binary(redisMachineBytes)) while it rewrites its log"),
            ("network to the gateways", Self.bits(gatewayBitsPerSecond), "TLS and TCP included"),
            ("network of Kafka", Self.bits(kafkaBitsPerSecond), copies),
            ("disk of Kafka", Self.decimal(kafkaDiskBytes), kept),
        ]
    }

    private var busyMillicores: Int { Int((busyCores * 1000).rounded(.up)) }

    /// Three digits.
    private static func padded(_ number: Int) -> String {
        String(repeating: "0", count: 3 - "\(number)".count) + "\(number)"
    }

    private static func binary(_ bytes: Int) -> String { scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]) }
    private static func decimal(_ bytes: Int) -> String { scaled(bytes, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]) }
    private static func bits(_ bits: Int) -> String {
        scaled(bits, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
    }

    /// With one decimal, rounded up, in the largest unit of which there is one.
    private static func scaled(_ value: Int, _ step: Int, _ units: [String]) -> String {
        var unit = 0
        var size = 1
        while unit + 1 < units.count, value / size >= step {
            size *= step
            unit += 1
        }
        guard unit > 0 else { return "\(value) \(units[0])" }
        let tenths = value / size * 10 + (value % size * 10 + size - 1) / size
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

extension CapacityPlan.WorkerRate.Bound {
    fileprivate var word: String { self == .cpu ? "CPU" : "connections" }
}
