import PipelineCore
import TestSupport
import Testing

@testable import Sender

@Suite struct PublicationTableTests {
    private var table = PublicationTable()

    private func publication(_ token: UInt32) -> Publication {
        Publication(
            feed: 1,
            record: 2,
            content: .outcome(token: token, .unknown, status: 0, reason: "")
        )
    }

    private func token(_ publication: Publication?) -> UInt32? {
        guard case .outcome(let token, _, _, _) = publication?.content else { return nil }
        return token
    }

    @Test("A number leads to its publication until that is acknowledged, once")
    mutating func numbers() {
        let numbers = (0..<100).map { table.insert(publication($0)) }
        #expect(Set(numbers).count == 100)
        #expect(table.count == 100)
        for (token, number) in numbers.enumerated() { #expect(self.token(table[number]) == UInt32(token)) }
        #expect(token(table.remove(numbers[7])) == 7)
        #expect(table[numbers[7]] == nil)
        // A second report on the same number finds nothing, and frees nothing twice.
        #expect(table.remove(numbers[7]) == nil)
        #expect(table.count == 99)
    }

    @Test("A freed number is used again, never one that is in use")
    mutating func reuse() {
        var generator = SeededGenerator(seed: 1)
        var live: [UInt64: UInt32] = [:]
        for token in UInt32(0)..<5_000 {
            if live.count > 50, let number = live.keys.sorted().randomElement(using: &generator) {
                #expect(self.token(table.remove(number)) == live.removeValue(forKey: number))
            }
            let number = table.insert(publication(token))
            #expect(live.updateValue(token, forKey: number) == nil)
            #expect(table.count == live.count)
        }
        for (number, token) in live { #expect(self.token(table[number]) == token) }
        // The numbers stay small: the table is bounded by what is under way, not by what went through it.
        #expect(live.keys.allSatisfy { $0 <= 51 })
    }

    @Test("The room of a storm is given back when it is over")
    mutating func storm() {
        let numbers = (0..<10_000).map { table.insert(publication($0)) }
        for number in numbers { table.remove(number) }
        #expect(table.count == 0)
        #expect(table[numbers[9_999]] == nil)
        #expect(table.insert(publication(1)) == 0)
    }

    @Test("A publication can be marked in place as too large for the broker")
    mutating func cut() {
        let number = table.insert(publication(1))
        #expect(table[number]?.form == .whole)
        table[number]?.form = .cut
        #expect(table.remove(number)?.form == .cut)
    }
}
