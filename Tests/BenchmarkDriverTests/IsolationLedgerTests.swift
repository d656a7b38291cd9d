import Testing

@testable import belfry_bench

@Suite("The ledger of the isolation benchmark")
struct IsolationLedgerTests {
    /// Two partitions with ten devices each, records of five tokens.
    private func ledger(isGood: @escaping @Sendable (UInt32) -> Bool = { _ in true }) -> DeliveryLedger {
        DeliveryLedger(
            partitions: 2,
            devicesPerPartition: 10,
            tokensPerRecord: 5,
            keepsSamples: true,
            isGood: isGood
        )
    }

    @Test("What was published and not accepted is outstanding, and a second acceptance is a duplicate")
    func accounts() {
        var ledger = ledger()
        let number = ledger.publish(firstDevice: 5, now: 10)
        ledger.accept(record: number, device: 5, now: 20)
        ledger.accept(record: number, device: 5, now: 30)
        #expect(ledger.published == 5)
        #expect(ledger.outstanding == 4)
        #expect(ledger.duplicates == 1)
        #expect(ledger.samples == [DeliveryLedger.Sample(sent: 10, accepted: 20)])
        #expect(ledger.lastAcceptance == 30)
    }

    @Test("Of tokens that the gateway refuses nothing is expected, and their acceptance is strange")
    func bad() {
        var ledger = ledger { $0 != 6 }
        let number = ledger.publish(firstDevice: 5, now: 0)
        #expect(ledger.published == 4)
        ledger.accept(record: number, device: 6, now: 1)
        #expect(ledger.strange == 1)
        #expect(ledger.distinct == 0)
    }

    @Test("An acceptance without a publication is strange: an unknown record, and a device that is not in it")
    func strange() {
        var ledger = ledger()
        let number = ledger.publish(firstDevice: 5, now: 0)
        ledger.accept(record: number + 1, device: 5, now: 1)
        ledger.accept(record: number, device: 4, now: 1)
        ledger.accept(record: number, device: 10, now: 1)
        ledger.accept(record: number, device: 1000, now: 1)
        #expect(ledger.strange == 4)
        #expect(ledger.outstanding == 5)
    }

    @Test("A device that gets a newer notification first is out of order; a repeated suffix is not")
    func order() {
        var ledger = ledger()
        let numbers = (0..<3).map { ledger.publish(firstDevice: 0, now: Int64($0)) }
        ledger.accept(record: numbers[0], device: 0, now: 1)
        ledger.accept(record: numbers[1], device: 0, now: 1)
        ledger.accept(record: numbers[0], device: 0, now: 2)
        ledger.accept(record: numbers[1], device: 0, now: 2)
        ledger.accept(record: numbers[2], device: 0, now: 2)
        #expect(ledger.disordered == 0)
        ledger.accept(record: numbers[1], device: 1, now: 3)
        ledger.accept(record: numbers[0], device: 1, now: 3)
        #expect(ledger.disordered == 1)
    }

    @Test("A take-over ends when every partition had something accepted that was published after the kill")
    func takeover() {
        var ledger = ledger()
        let before = ledger.publish(firstDevice: 0, now: 5)
        ledger.interrupt(now: 10)
        let first = ledger.publish(firstDevice: 0, now: 11)
        let second = ledger.publish(firstDevice: 10, now: 12)
        ledger.accept(record: before, device: 0, now: 13)
        ledger.accept(record: second, device: 10, now: 14)
        #expect(ledger.resumption == nil)
        ledger.accept(record: first, device: 0, now: 19)
        ledger.accept(record: first, device: 1, now: 25)
        #expect(ledger.resumption == 19)
    }
}
