import Testing

@testable import PipelineCore

@Suite("Positions of tokens in runs")
struct TokenRunsTests {
    private static func runs(_ tokens: some Sequence<UInt32>) -> TokenRuns {
        var runs = TokenRuns()
        for token in tokens { runs.append(token) }
        return runs
    }

    @Test("Parts have the same runs, in order, and each text fits", arguments: [1, 5, 6, 30, 1000])
    func parts(textBytes: Int) {
        let all = Self.runs((0..<400 as Range<UInt32>).filter { $0 % 7 < 3 || $0 % 2 == 0 })
        let parts = all.parts(textBytes: textBytes, most: .max)
        #expect(parts.flatMap(\.runs) == all.runs)
        #expect(parts.allSatisfy { $0.text.utf8.count <= textBytes || $0.runs.count == 1 })
        #expect(parts.allSatisfy { !$0.isEmpty })
    }

    @Test("The last of the parts that there may be has all that are left")
    func most() {
        let all = Self.runs(stride(from: 0, to: 1000, by: 2))
        let parts = all.parts(textBytes: 100, most: 3)
        #expect(parts.count == 3 && parts.flatMap(\.runs) == all.runs)
        #expect(parts[0].text.utf8.count <= 100 && parts[2].text.utf8.count > 100)
        #expect(TokenRuns().parts(textBytes: 10, most: 3).isEmpty)
    }

    @Test("A text is cut between runs, and only if it must be")
    func cutText() {
        let all = Self.runs([1, 2, 3, 7, 9])
        #expect(all.text == "1-3,7,9")
        #expect(all.cutText(textBytes: 7) == nil)
        #expect(all.cutText(textBytes: 6) == "1-3,7")
        #expect(all.cutText(textBytes: 4) == "1-3")
        #expect(all.cutText(textBytes: 2) == "")
    }

    @Test("Runs have their own positions, and none beside or between them")
    func contains() {
        let all = Self.runs([1, 2, 3, 7, 9])
        #expect((0...10 as ClosedRange<UInt32>).filter { all.contains($0) } == [1, 2, 3, 7, 9])
        #expect(!TokenRuns().contains(0))
    }

    @Test(
        "A text is read as the runs that it was made of",
        arguments: [[0], [1, 2, 3, 7, 9], [5, .max - 1]] as [[UInt32]]
    )
    func reads(tokens: [UInt32]) {
        let all = Self.runs(tokens)
        #expect(TokenRuns(all.text) == all)
    }

    @Test(
        "A text is malformed whose runs touch, overlap, go back or are no numbers of positions",
        arguments: [
            "", ",", "1,", "a", "1-", "-1", "1-2-3", "3-1", "1,2", "1-3,4", "1-3,3", "7,1", "4294967295",
            "5-4294967295", "4294967296",
        ]
    )
    func malformed(text: String) {
        #expect(TokenRuns(text) == nil)
    }
}
