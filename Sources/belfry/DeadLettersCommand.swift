import ArgumentParser
import BelfrySupport
import BelfryTools

/// `belfry dead-letters`.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Look at push.dead-letters, and publish from it again.",
        subcommands: [List.self, Show.self, Explain.self, Replay.self]
    )

    /// The letters that are meant.
    struct Selection: ParsableArguments {
        @Option(help: ArgumentHelp("Only with this reason; may be repeated.", valueName: "reason"))
        var reason: [String] = []

        @Option(help: ArgumentHelp("Only of this bundle ID; may be repeated.", valueName: "bundle"))
        var app: [String] = []

        @Option(help: ArgumentHelp("Only written since: \(PointInTime.forms).", valueName: "time"))
        var since: PointInTime?

        var filter: DeadLetterFilter {
            var filter = DeadLetterFilter()
            filter.reasons = Set(reason)
            filter.bundleIDs = Set(app)
            filter.since = since?.unixMilliseconds
            filter.sinceText = since?.text
            return filter
        }

        func validate() throws {
            for reason in reason where DeadLetterReasons.explanation(of: reason) == nil {
                throw ValidationError("--reason: \(reason) is none; belfry dead-letters explain lists them")
            }
        }
    }

    /// `belfry dead-letters list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the dead letters that are there, one a line."
        )

        @OptionGroup var selection: Selection

        @Option(help: ArgumentHelp("End after so many.", valueName: "n"))
        var limit: Int?

        @OptionGroup var kafka: KafkaOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
        }

        func run() throws {
            let settings = try kafka.load().kafka
            try DeadLetterListing.list(settings, selection.filter, limit: limit, asJSON: output.json)
        }
    }

    /// `belfry dead-letters show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a whole dead letter: headers, key and value."
        )

        @Argument(help: ArgumentHelp("Where it stands, as list prints it.", valueName: "partition@offset"))
        var letter: LetterPlace

        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let settings = try kafka.load().kafka
            let whole = try DeadLetterListing.whole(settings, partition: letter.partition, offset: letter.offset)
            StandardStream.output.write(Array((whole.json + "\n").utf8))
        }
    }

    /// `belfry dead-letters explain`.
    struct Explain: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what a reason means, and the cure; without one, list all."
        )

        @Argument(help: "A reason.")
        var reason: String?

        func run() throws {
            guard let reason else {
                for reason in DeadLetterReasons.all { say("\(reason): \(explanation(of: reason))") }
                return
            }
            guard DeadLetterReasons.explanation(of: reason) != nil else {
                throw ToolError.notFound("\(reason) is no reason of a dead letter; without it, all are listed")
            }
            say(explanation(of: reason))
        }

        private func explanation(of reason: String) -> String { DeadLetterReasons.explanation(of: reason) ?? "" }

        private func say(_ text: String) { StandardStream.output.write(Array((text + "\n").utf8)) }
    }

    /// `belfry dead-letters replay`.
    struct Replay: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Publish dead letters again, to the Kafka topics that they come from.",
            discussion: "Of a request of which some tokens were at fault only those are published."
        )

        /// So many are published without being asked.
        static let fewLetters = 100

        @OptionGroup var selection: Selection

        @Option(help: ArgumentHelp("Most records a second.", valueName: "n"))
        var rate: Int?

        @Option(help: ArgumentHelp("A file that remembers what is done: the same command goes on.", valueName: "file"))
        var checkpoint: String?

        @Flag(help: "Do not ask, however many there are.")
        var yes = false

        @OptionGroup var kafka: KafkaOptions

        func validate() throws {
            if let rate, rate < 1 { throw ValidationError("--rate must be at least 1") }
        }

        func run() throws {
            var order = DeadLetterReplay.Order()
            order.filter = selection.filter
            order.rate = rate
            order.checkpoint = checkpoint
            let replay = try DeadLetterReplay(kafka.load().kafka, order)
            defer { replay.close() }
            let plan = try replay.plan()
            for refusal in plan.refusals { tell("belfry: not replayed: \(refusal)") }
            if plan.refused > plan.refusals.count { tell("belfry: … \(plan.refused) in all") }
            if plan.replayable > Self.fewLetters, !yes { try ask(plan.replayable) }
            let published = try replay.run()
            StandardStream.output.write(Array("published \(counted(published, "dead letter")) again\n".utf8))
            if plan.refused > 0 { throw ToolError.refused("not replayed: \(counted(plan.refused, "dead letter"))") }
        }

        private func ask(_ count: Int) throws {
            StandardStream.error.write(Array("belfry: publish \(counted(count, "dead letter")) again? [y/N] ".utf8))
            let answer = readLine()?.lowercased()
            guard answer == "y" || answer == "yes" else {
                tell("belfry: nothing was published")
                throw ExitCode(ExitStatus.failed.rawValue)
            }
        }

        private func tell(_ text: String) { StandardStream.error.write(Array((text + "\n").utf8)) }
    }

    /// The place of a dead letter as it is typed: `2@17`.
    struct LetterPlace: ExpressibleByArgument {
        let partition: Int32
        let offset: Int64

        init?(argument: String) {
            let parts = argument.split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
                partition >= 0, offset >= 0
            else { return nil }
            self.partition = partition
            self.offset = offset
        }
    }
}
