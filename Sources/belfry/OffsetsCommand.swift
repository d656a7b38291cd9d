import ArgumentParser
import BelfrySupport
import BelfryTools
import RequestLanes

/// `belfry offsets`.
struct OffsetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offsets",
        abstract: "Look at how far the workers have come in the requests of each lane, and change it.",
        subcommands: [Show.self, Set.self]
    )

    /// `belfry offsets show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print each partition's committed offset, its log, and every app that is behind.",
            discussion: "Records to the end are those of all apps. An app whose record at the cursor is gone, and "
                + "that neither a certificate nor the configuration names, is printed as a hash."
        )

        @Option(help: ArgumentHelp("This lane alone; left out: all that have a Kafka topic.", valueName: "lane"))
        var lane: RequestLane?

        @OptionGroup var kafka: KafkaOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let configuration = try kafka.load()
            let lanes = try lane.map { [$0] } ?? GroupPositions.lanes(of: configuration)
            for lane in lanes {
                let positions = try GroupPositions(configuration, lane: lane)
                defer { positions.close() }
                for position in try positions.all() { output.print(json: position.json, text: position.text) }
            }
        }
    }

    /// `belfry offsets set`.
    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change the committed offset of a partition, or the cursor of one app in it.",
            discussion: """
                No worker may run that serves the lane. --offset moves a partition: apps that are behind the new \
                offset keep their cursors; all others go on at it, so that going back sends again and going ahead \
                leaves out. --app and --cursor move one app, at most up to the committed offset.
                """
        )

        @Option(help: ArgumentHelp("The partition of the lane's Kafka topic.", valueName: "number"))
        var partition: Int32

        @Option(help: ArgumentHelp("The lane.", valueName: "lane"))
        var lane = RequestLane.normal

        @Option(help: ArgumentHelp("The new offset: a number, beginning or end.", valueName: "offset"))
        var offset: Place?

        @Option(help: ArgumentHelp("Change this app alone.", valueName: "bundle"))
        var app: String?

        @Option(help: "The app's environment as its records name it; left out: they name none.")
        var environment: String?

        @Option(help: ArgumentHelp("The app's new cursor: the next offset to send.", valueName: "offset"))
        var cursor: Int64?

        @Flag(help: "Change it without asking.")
        var yes = false

        @OptionGroup var kafka: KafkaOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if partition < 0 { throw ValidationError("--partition: 0 and more are allowed") }
            if let cursor, cursor < 0 { throw ValidationError("--cursor: 0 and more are allowed") }
            if (offset != nil) == (app != nil) {
                throw ValidationError("either --offset, or --app with --cursor, says what to change")
            }
            if (app != nil) != (cursor != nil) { throw ValidationError("--app and --cursor belong together") }
            if environment != nil, app == nil { throw ValidationError("--environment is that of --app") }
        }

        func run() throws {
            let positions = try GroupPositions(kafka.load(), lane: lane)
            defer { positions.close() }
            let change = try positions.plan(PositionOrder(partition: partition, target: target))
            if !yes { try ask(change, groupID: positions.groupID) }
            try positions.carryOut(change)
            output.print(json: change.json, text: change.text)
        }

        private var target: PositionOrder.Target {
            if let app, let cursor { return .cursor(cursor, bundleID: app, environment: environment ?? "") }
            return offset?.target ?? .beginning
        }

        private func ask(_ change: PositionChange, groupID: String) throws {
            StandardStream.error.write(
                Array("\(change.text)\nbelfry: commit this to group \(groupID)? [y/N] ".utf8)
            )
            let answer = readLine()?.lowercased()
            guard answer == "y" || answer == "yes" else {
                StandardStream.error.write(Array("belfry: nothing was changed\n".utf8))
                throw ExitCode(ExitStatus.failed.rawValue)
            }
        }
    }

    /// An offset as it is typed.
    struct Place: ExpressibleByArgument {
        let target: PositionOrder.Target

        init?(argument: String) {
            switch argument {
            case "beginning": target = .beginning
            case "end": target = .end
            default:
                guard let offset = Int64(argument), offset >= 0 else { return nil }
                target = .offset(offset)
            }
        }
    }
}
