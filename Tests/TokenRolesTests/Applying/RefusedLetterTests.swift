import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

@Suite("Dead letters of an applier that the broker refuses")
struct RefusedLetterTests {
    private static let tooLarge = KafkaError(
        code: 10,
        name: "MSG_SIZE_TOO_LARGE",
        message: "",
        isRetriable: false,
        isFatal: false
    )
    private static let notAuthorized = KafkaError(
        code: 29,
        name: "TOPIC_AUTHORIZATION_FAILED",
        message: "",
        isRetriable: false,
        isFatal: false
    )

    /// An applier with a record that Redis refuses for good.
    private static func bring(_ value: String, to bench: ApplierBench) {
        bench.errors[value] = .server(prefix: "WRONGTYPE", message: "")
        bench.member.publish(value)
        bench.member.give(0)
    }

    @Test("A letter that is too large even when it is cut goes as the least that names its record")
    func bare() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.producer.objection = { $0.value.count > 300 ? Self.tooLarge : nil }
        let value = "stuck" + String(repeating: "x", count: 1000)
        Self.bring(value, to: bench)
        bench.pass(.seconds(5))
        #expect(bench.letters.map(\.value.utf8.count) == [256])
        #expect(bench.committed == [0: 1])
        #expect(bench.applier.counters.cut == 2 && bench.applier.counters.barred == 0)
    }

    @Test("A topic for dead letters without a right is tried once in a while, and the batch goes on when it is there")
    func barred() {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.producer.objection = { _ in Self.notAuthorized }
        Self.bring("stuck", to: bench)
        bench.pass(.minutes(10))
        #expect((10...40).contains(bench.producer.attempts), "not once a second")
        #expect(bench.committed.isEmpty && bench.applier.counters.barred == 1)
        bench.producer.objection = { _ in nil }
        bench.pass(.seconds(31))
        #expect(bench.committed == [0: 1] && bench.applier.counters.barred == 0)
    }
}
