import PipelineCore
import Testing

/// Records whose topic is not known, beside the cursors of the topics that they may be of.
@Suite("Guessed topics")
struct GuessedTopicsTests {
    @Test("A record that may be of several topics holds them all until it is done")
    func guessed() {
        let (mail, game) = (AppHash(bundleID: "mail", environment: ""), AppHash(bundleID: "game", environment: ""))
        var guesses = GuessedTopics()
        for offset in [5, 9] as [Int64] { guesses.note(offset, in: mail, maybeOf: game) }
        let cursors = [3, 5, 7, 9, 10].map { (cursor: Int64) in
            guesses.advance { $0 == mail ? cursor : nil }
            return guesses.cursor(of: game)
        }
        #expect(cursors == [5, 5, 7, 9, nil] && guesses.cursor(of: mail) == nil)
    }

    @Test("A feed that has got records has passed those between, be they done or not")
    func given() {
        let (mail, game) = (AppHash(bundleID: "mail", environment: ""), AppHash(bundleID: "game", environment: ""))
        var guesses = GuessedTopics()
        for offset in [7, 5, 9] as [Int64] { guesses.note(offset, in: mail, maybeOf: game) }
        guesses.advance { _ in nil }
        let given = (3...11).filter { guesses.mayHaveGiven($0, to: mail) }
        #expect(given == Array(5...9) && !guesses.mayHaveGiven(7, to: game))
    }
}
