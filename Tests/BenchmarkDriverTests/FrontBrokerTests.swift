import BenchmarkCommon
import Foundation
import PushSchemas
import Testing

@testable import belfry_bench

@Suite("What the benchmark's broker keeps")
struct FrontBrokerTests {
    /// Of a record in a batch, beyond key and value: lengths, times and offsets take ten bytes at most.
    private static let frameBytes = 10
    private static let key = "\(BenchmarkApp.bundle)#\(SteadySetting.spread - 1)"
    private static let halfBytes = FrontBroker.keptMiB << 19

    private let token = [UInt8](repeating: 0xFF, count: Int(BENCH_TOKEN_BYTES))

    @Test("Notifications that a partition is asked to keep fill half of it at most")
    func notifications() {
        var record = [UInt8](repeating: 0, count: Int(BENCH_RECORD_LIMIT_BYTES))
        let bytes = bench_stamped_record(.max, token, &record) + Self.key.utf8.count + Self.frameBytes
        #expect(bytes * FrontBroker.notificationsPerPartition <= Self.halfBytes)
    }

    @Test("Registrations that a partition is asked to keep fill half of it at most", arguments: 0..<5)
    func registrations(number: Int) throws {
        let record = RegistrarScenario.registration(number, token: token, at: 1_800_000_000)
        let bytes = try record.serializedData().count + Self.key.utf8.count + Self.frameBytes
        #expect(bytes * FrontBroker.registrationsPerPartition <= Self.halfBytes)
    }

    @Test("More than the partitions keep is refused, and the message says how much they keep")
    func check() throws {
        func check(_ value: Int, partitions: Int) throws {
            try FrontBroker.check("--rate", value, in: 10...1000, partitions: partitions, perPartition: 100)
        }
        try check(200, partitions: 2)
        try check(10, partitions: 2)
        try check(1000, partitions: 50)
        #expect(throws: (any Error).self) { try check(9, partitions: 2) }
        #expect(throws: (any Error).self) { try check(1001, partitions: 50) }
        let error = #expect(throws: (any Error).self) { try check(201, partitions: 2) }
        #expect(
            error.map { "\($0)" } == "--rate: 10...200, not 201, since the broker keeps 8 MiB of each of 2 partitions"
        )
    }

    @Test("The commands refuse more than their partitions keep, and take their defaults")
    func commands() throws {
        try RegistrarBenchmarkCommand.parse([]).validate()
        try WorkersBenchmarkCommand.parse([]).validate()
        try LatencyBenchmarkCommand.parse([]).validate()
        _ = try LatencyBenchmarkCommand.parse(["--partitions", "1", "--kafka", "b:1"])
        #expect(throws: (any Error).self) { try RegistrarBenchmarkCommand.parse(["--partitions", "4"]) }
        #expect(throws: (any Error).self) { try WorkersBenchmarkCommand.parse(["--partitions", "9"]) }
        #expect(throws: (any Error).self) { try LatencyBenchmarkCommand.parse(["--partitions", "7"]) }
    }
}
