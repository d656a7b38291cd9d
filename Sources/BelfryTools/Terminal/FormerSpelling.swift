/// Words of the version before that are still taken: an app was called a topic there, as Kafka's logs are.
///
/// The version after this one takes them no more. The section `topics` of the configuration is renamed where it is
/// read.
public enum FormerSpelling {
    private static let levers: Set = ["pause", "resume", "pace", "discard", "levers"]

    /// Spells a command as it is spelt now. The sandbox keeps the service's word.
    ///
    /// - Parameter words: behind the program's name.
    public static func replaced(in words: [String]) -> [String] {
        guard let command = words.first, command != "sandbox" else { return words }
        var result = words
        if command == "topics", words.count > 1, levers.contains(words[1]) { result[0] = "apps" }
        for (index, word) in words.enumerated() {
            if word == "--" { break }
            let option = word.prefix { $0 != "=" }
            let present = option == "--topic" ? "--app" : option == "--topics" && command == "plan" ? "--apps" : nil
            if let present { result[index] = present + word.dropFirst(option.count) }
        }
        return result
    }
}
