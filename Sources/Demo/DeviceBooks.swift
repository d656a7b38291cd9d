import LocalPipeline
import PushSchemas

/// The books of the notifications in parts: in which languages the devices got them, and the numbers on their icons.
public struct DeviceBooks: Sendable {
    /// Accepted by the gateway in each language, by the worker's word.
    private(set) var claimed: [PlannedLanguage: Int] = [:]
    /// By token: the notifications that reached the device, or may have, according to their outcomes. Tokens that none
    /// reached are there with 0.
    private(set) var reached: [[UInt8]: Int] = [:]
    /// Accepted by the gateway in each language, as the sandbox saw it.
    public var seen: [PlannedLanguage: Int] = [:]
    /// By token: the number that is kept in Redis. A token without one is not there.
    var numbers: [[UInt8]: Int] = [:]

    init() {}

    /// - Parameter places: of the records, in the same order.
    init(_ records: [PlannedRecord], at places: [PipelineClient.Place], outcomes: Books) {
        for (record, place) in zip(records, places) {
            for (index, token) in record.counted.enumerated() {
                let coordinates = Books.Coordinates(
                    lane: place.lane,
                    partition: place.partition,
                    offset: place.offset,
                    token: UInt32(index)
                )
                let kind = outcomes.outcomes[coordinates].flatMap { OutcomeKind($0) }
                if kind?.isAcceptance == true { claimed[PlannedLanguage(of: token), default: 0] += 1 }
                reached[token, default: 0] += kind?.isAcceptance == true || kind == .unknown ? 1 : 0
            }
        }
    }

    /// Notes how often the sandbox accepted each title.
    mutating func note(titles: [String: Int]) {
        for language in PlannedLanguage.allCases { seen[language] = titles[language.title] ?? 0 }
    }

    /// Tokens whose number is that of the notifications that reached them.
    public var rightNumbers: Int { reached.count { numbers[$0.key] ?? 0 == $0.value } }

    public var wrongNumbers: Int { reached.count - rightNumbers }

    /// Complaints about languages and numbers.
    ///
    /// - Parameter duplicates: how many notifications the gateway may have accepted beyond those that are claimed.
    func complaints(duplicates: Int) -> [String] {
        var complaints: [String] = []
        var spare = duplicates
        for language in PlannedLanguage.allCases {
            let (seen, claimed) = (seen[language] ?? 0, claimed[language] ?? 0)
            spare -= max(0, seen - claimed)
            guard seen < claimed || seen > claimed && spare < 0 else { continue }
            complaints.append("\(seen) notifications went in \(language.rawValue), \(claimed) expected")
        }
        if wrongNumbers > 0 {
            complaints.append("\(wrongNumbers) badges in Redis are not what reached the device")
        }
        return complaints
    }

    /// For the table.
    var languageText: String {
        PlannedLanguage.allCases.map { "\($0.rawValue) \(seen[$0] ?? 0)" }.joined(separator: " · ")
    }
}
