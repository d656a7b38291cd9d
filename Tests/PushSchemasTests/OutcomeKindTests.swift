import PushSchemas
import Testing

@Suite("The table of outcomes")
struct OutcomeKindTests {
    @Test("It has every fate of one notification that the Protobuf schema has, in the schema's order")
    func schema() {
        let others: [PushOutcomeKind] = [.unspecified, .summary]
        #expect(OutcomeKind.allCases.map(\.message) == PushOutcomeKind.allCases.filter { !others.contains($0) })
    }

    @Test("A message leads to its kind, and what the schema does not name to none")
    func messages() {
        #expect(OutcomeKind.allCases.map { OutcomeKind($0.message) } == OutcomeKind.allCases)
        let others: [PushOutcomeKind] = [.unspecified, .summary, .UNRECOGNIZED(99)]
        #expect(others.allSatisfy { OutcomeKind($0) == nil })
    }

    @Test("Accepted are confirmed and presumed; superseded and duplicate are no failures either")
    func meanings() {
        #expect(OutcomeKind.allCases.filter(\.isAcceptance) == [.confirmed, .presumed])
        let others: [OutcomeKind] = [.unknown, .rejected, .tombstoned, .expired, .deadLettered, .aborted]
        #expect(OutcomeKind.allCases.filter(\.isFailure) == others)
    }

    @Test("A name is said in lower case with underscores, and is one kind's")
    func names() {
        let names = OutcomeKind.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.allSatisfy { $0 == "_" || $0.isLowercase } })
    }
}
