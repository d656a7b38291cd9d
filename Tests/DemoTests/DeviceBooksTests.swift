import PushSchemas
import Testing

@testable import Demo
@testable import LocalPipeline

struct DeviceBooksTests {
    /// One token of each language.
    private static let tokens: [[UInt8]] = PlannedLanguage.allCases.map { language in
        (0...2).map { [$0] }.first { PlannedLanguage(of: $0) == language } ?? []
    }

    /// The books of one record for each token in turn, whose notifications have these outcomes.
    private static func books(_ kinds: OutcomeKind...) -> DeviceBooks {
        var outcomes = Books()
        var records: [PlannedRecord] = []
        var places: [PipelineClient.Place] = []
        for (index, kind) in kinds.enumerated() {
            let counted = [tokens[index % tokens.count]]
            records.append(PlannedRecord(key: "", value: [], isJSON: false, notifications: 1, counted: counted))
            var place = PipelineClient.Place(key: "", notifications: 1)
            place.partition = 0
            place.offset = Int64(index)
            places.append(place)
            outcomes.publish(notifications: 1)
            outcomes.noteOutcome(
                .with {
                    $0.sourceOffset = Int64(index)
                    $0.kind = kind.message
                }
            )
        }
        return DeviceBooks(records, at: places, outcomes: outcomes)
    }

    private static func titles(_ english: Int, _ german: Int, _ portuguese: Int) -> [String: Int] {
        let languages: [PlannedLanguage] = [.english, .german, .portuguese]
        return Dictionary(uniqueKeysWithValues: zip(languages.map(\.title), [english, german, portuguese]))
    }

    @Test("A number is right if it is that of the notifications that reached the device, or may have")
    func numbers() {
        var books = Self.books(.confirmed, .rejected, .unknown, .presumed, .tombstoned, .expired)
        books.note(titles: Self.titles(2, 0, 0))
        books.numbers = [Self.tokens[0]: 2, Self.tokens[2]: 1]
        #expect(books.rightNumbers == 3 && books.wrongNumbers == 0)
        #expect(books.complaints(duplicates: 0) == [])
        // One lost, and one that should have been taken back.
        books.numbers = [Self.tokens[0]: 1, Self.tokens[1]: 1, Self.tokens[2]: 1]
        #expect(books.rightNumbers == 1 && books.wrongNumbers == 2)
        #expect(books.complaints(duplicates: 0).count == 1)
    }

    @Test("The sandbox saw each language as often as the workers claim")
    func languages() {
        var books = Self.books(.confirmed, .presumed, .rejected, .confirmed)
        books.numbers = [Self.tokens[0]: 2, Self.tokens[1]: 1]
        books.note(titles: Self.titles(2, 1, 0))
        #expect(books.languageText == "en 2 · de 1 · pt-BR 0")
        #expect(books.complaints(duplicates: 0) == [])
        books.note(titles: Self.titles(3, 0, 0))
        #expect(books.complaints(duplicates: 0).count == 2)
    }

    @Test("A language may be seen more often only by what was accepted twice")
    func duplicates() {
        var books = Self.books(.confirmed)
        books.numbers = [Self.tokens[0]: 1]
        books.note(titles: Self.titles(3, 0, 0))
        #expect(books.complaints(duplicates: 2) == [])
        #expect(books.complaints(duplicates: 1).count == 1)
    }
}
