import Testing

@testable import PipelineCore

@Suite("Marks of large records")
struct LargeMarksTests {
    @Test("A record keeps its marks, and no others, while others come and go")
    func places() {
        var marks = LargeMarks()
        var places: [(place: UInt64, tokens: Int, marked: Set<UInt32>)] = []
        var next = 0
        // Far beyond the point at which the front is given back.
        for number in 0..<4000 {
            let tokens = 65 + number % 500
            let place = marks.append(tokens: tokens)
            let marked = Set([0, 63, 64, UInt32(tokens - 1), UInt32(number % tokens)])
            for token in marked { marks.insert(token, at: place) }
            places.append((place, tokens, marked))
            guard places.count - next > 40 else { continue }
            let oldest = places[next]
            for token in 0..<UInt32(oldest.tokens) {
                #expect(marks.contains(token, at: oldest.place) == oldest.marked.contains(token))
            }
            marks.removeFirst(tokens: oldest.tokens)
            next += 1
        }
    }
}
