import ArgumentParser
import BelfrySupport

extension ParsableCommand {
    /// Says which command among the words is not known, and which one is probably meant; nil: all are known.
    ///
    /// - Parameter words: behind the program's name.
    static func misspelling(in words: some Sequence<String>) -> String? {
        var command: any ParsableCommand.Type = Self.self
        var path = command._commandName
        for word in words {
            let known = command.configuration.subcommands
            guard !known.isEmpty, command.configuration.defaultSubcommand == nil, !word.hasPrefix("-"), word != "help"
            else { return nil }
            guard let next = known.first(where: { $0._commandName == word }) else {
                let likely = NearestName.of(word, among: known.map { $0._commandName })
                let cure = likely.map { "did you mean \(path) \($0)?" } ?? "\(path) --help lists them"
                return "\(path) has no command '\(word)': \(cure)"
            }
            command = next
            path += " \(word)"
        }
        return nil
    }
}
