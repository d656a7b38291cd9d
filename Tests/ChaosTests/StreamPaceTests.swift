import LocalPipeline
import Testing

@Suite("The pace of a chaos run's registrations")
struct StreamPaceTests {
    @Test("As many are due as the rate asks for, in steps of any length")
    func steps() {
        var pace = StreamPace(perSecond: 500)
        var due = 0
        for millisecond in stride(from: 0, through: 4000, by: 7) { due += pace.due(at: .milliseconds(millisecond)) }
        #expect((1995...2000).contains(due))
    }

    @Test("Nothing is due at first, and what was not asked for in a second is not made up for")
    func gaps() {
        var pace = StreamPace(perSecond: 500)
        #expect(pace.due(at: .seconds(9)) == 0)
        #expect(pace.due(at: .seconds(10)) == 500)
        #expect(pace.due(at: .seconds(60)) == 500)
    }
}
