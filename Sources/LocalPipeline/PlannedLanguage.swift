/// A language in which devices register, and in which the notifications in parts of a ``RequestPlan`` have a text.
public enum PlannedLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case german = "de"
    case portuguese = "pt-BR"

    /// The title of its localization; no other one has it.
    public var title: String {
        switch self {
        case .english: "Edition"
        case .german: "Ausgabe"
        case .portuguese: "Edição"
        }
    }

    /// The title of the localization for all other languages, which no device registers.
    static let otherTitle = "Issue"

    /// The language of the device with a token: always the same, about a third of the devices each.
    public init(of token: [UInt8]) {
        let all = Self.allCases
        self = all[token.reduce(0) { $0 + Int($1) } % all.count]
    }
}
