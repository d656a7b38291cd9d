import Testing

@testable import PipelineCore

@Suite struct RequestsUnderWayTests {
    private func reference(_ record: UInt32) -> NotificationReference {
        NotificationReference(assignment: 1, record: record, token: 0)
    }

    private func fingerprint(_ number: UInt64) -> RequestFingerprint {
        [number].withUnsafeBytes { RequestFingerprint(token: $0, key: SipHash(low: 0, high: 0)) }
    }

    @Test("A repetition is found while the first one is under way, and another request is not taken for one")
    func repetition() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(1), reference(1), batch: 1) { _ in false })
        #expect(!requests.takes(fingerprint(1), reference(2), batch: 1) { _ in false })
        #expect(!requests.takes(fingerprint(1), reference(3), batch: 9) { _ in false })
        #expect(requests.takes(fingerprint(2), reference(4), batch: 9) { _ in false })
    }

    @Test("The first one is asked after by its own reference; what failed or was lost may be sent again")
    func done() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(1), reference(1), batch: 1) { _ in false })
        #expect(requests.takes(fingerprint(1), reference(2), batch: 2) { $0 == reference(1) })
        #expect(!requests.takes(fingerprint(1), reference(3), batch: 3) { $0 == reference(1) }, "now the second holds")
    }

    @Test("A request that the store was told of holds for the batches that may have asked before")
    func remembered() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(1), reference(1), batch: 1) { _ in false })
        requests.remembered(fingerprint(1), of: 0, through: 3)
        #expect(!requests.takes(fingerprint(1), reference(2), batch: 3) { _ in true })
        #expect(requests.takes(fingerprint(1), reference(3), batch: 4) { _ in true }, "the store was asked later")
    }

    @Test("One id for one token of two topics names two requests")
    func topics() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(1), reference(1), of: 0, batch: 1) { _ in false })
        #expect(requests.takes(fingerprint(1), reference(2), of: 1, batch: 1) { _ in false })
        requests.remembered(fingerprint(1), of: 0, through: 5)
        #expect(requests.takes(fingerprint(1), reference(3), of: 1, batch: 5) { _ in true }, "of the other one")
    }

    @Test("Requests that hold no more are cleared away, those that hold are not")
    func sweep() {
        var requests = RequestsUnderWay()
        for number in 0..<100_000 as Range<UInt64> {
            let batch = number / 10 + 1
            #expect(
                requests.takes(fingerprint(number), reference(UInt32(number)), batch: batch) {
                    UInt64($0.record) + 500 < number
                }
            )
            #expect(requests.count <= 4096)
        }
        #expect(!requests.takes(fingerprint(99_600), reference(0), batch: 10_001) { $0.record + 500 < 100_000 })
    }

    @Test("Clearing away spares what batches that asked before may still bring")
    func sweepSparesRemembered() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(0), reference(0), batch: 1) { _ in false })
        requests.remembered(fingerprint(0), of: 0, through: 7)
        for number in 1..<5000 as Range<UInt64> {
            #expect(requests.takes(fingerprint(number), reference(UInt32(number)), batch: 7) { _ in true })
        }
        #expect(!requests.takes(fingerprint(0), reference(9), batch: 7) { _ in true })
    }

    @Test("Clearing away spares what a batch may still bring that others have passed")
    func sweepSparesPassed() {
        var requests = RequestsUnderWay()
        #expect(requests.takes(fingerprint(0), reference(0), batch: 1) { _ in false })
        requests.remembered(fingerprint(0), of: 0, through: 2)
        for number in 1..<5000 as Range<UInt64> {
            #expect(requests.takes(fingerprint(number), reference(UInt32(number)), batch: 9, oldest: 2) { _ in true })
        }
        #expect(!requests.takes(fingerprint(0), reference(9), batch: 2) { _ in true })
    }
}

extension RequestsUnderWay {
    /// As ``enter(_:_:batch:oldest:isDone:)``, for expectations, which cannot hold a mutating call that returns a truth
    /// value.
    fileprivate mutating func takes(
        _ fingerprint: RequestFingerprint,
        _ reference: NotificationReference,
        of topic: Int32 = 0,
        batch: UInt64,
        oldest: UInt64? = nil,
        isDone: (NotificationReference) -> Bool
    ) -> Bool {
        enter(fingerprint, of: topic, reference, batch: batch, oldest: oldest ?? batch, isDone: isDone)
    }
}
