import ArgumentParser

/// The program to measure.
struct ProgramOption: ParsableArguments {
    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?
}

/// Options of all scenarios whose targets are judged as a whole.
struct CommonOptions: ParsableArguments {
    @OptionGroup var program: ProgramOption

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    var belfry: String? { program.belfry }
}

/// Options of scenarios in which a program and its floor take turns.
struct FloorOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions

    @Option(help: "Rounds; the results are the medians, of ratios those of the rounds' ratios.")
    var rounds = 5

    var belfry: String? { common.belfry }
    var judge: Bool { common.judge }

    func validate() throws {
        try require("rounds", rounds, in: 1...1000)
    }
}

/// Options of the Kafka topics.
struct TopicOptions: ParsableArguments {
    @Option(help: "Partitions of the topics.")
    var partitions = 32
}

/// A seed, with which the same records come again.
struct SeedOption: ParsableArguments {
    @Option(help: "Of what is random in the records.")
    var seed: UInt64 = 1
}

/// Refuses an option's value that is not in its range.
func require(_ option: String, _ value: Int, in range: ClosedRange<Int>) throws {
    guard !range.contains(value) else { return }
    throw ValidationError("--\(option): \(range.lowerBound)...\(range.upperBound), not \(value)")
}

/// The names in a list, each once, in the list's order.
///
/// - Parameters:
///   - list: separated by commas; nil: all that are known.
///   - option: whose value it is.
func names(in list: String?, of known: [String], option: String) throws -> [String] {
    guard let list else { return known }
    var names: [String] = []
    for name in list.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
        guard known.contains(name) else {
            throw ValidationError("--\(option): \(known.joined(separator: ", ")), not '\(name)'")
        }
        if !names.contains(name) { names.append(name) }
    }
    return names
}
