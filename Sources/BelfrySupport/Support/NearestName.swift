/// Finds the name that a misspelt one probably means. Pure.
package enum NearestName {
    /// The most letters that are misspelt in a name.
    private static let mostChanges = 2

    /// Nil: no name is near.
    package static func of(_ name: String, among names: [String]) -> String? {
        names.filter { distance(name, $0) <= mostChanges }.min { distance(name, $0) < distance(name, $1) }
    }

    /// The names in their order, the one that is meant before all others.
    package static func first(_ name: String, among names: [String]) -> [String] {
        guard let likely = of(name, among: names) else { return names }
        return [likely] + names.filter { $0 != likely }
    }

    /// The least number of letters to insert, remove or replace.
    static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
        var row = Array(0...second.count)
        for (index, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (other, candidate) in second.enumerated() {
                let best = min(diagonal + (letter == candidate ? 0 : 1), row[other] + 1, row[other + 1] + 1)
                diagonal = row[other + 1]
                row[other + 1] = best
            }
        }
        return row[second.count]
    }
}
