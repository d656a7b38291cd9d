import ArgumentParser
import BelfrySupport
import BelfryTools
import Logging
import Sender
import TokenRoles

/// `belfry worker`.
struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Send what is published to push.requests; runs until SIGTERM or SIGINT, then drains."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let logger = Logger(label: "belfry.worker")
        let role = try WorkerRole(configuration, logger: logger)
        let operations = configuration.operations.map {
            OperationsEndpoint(address: $0, source: role.operations, logger: logger)
        }
        try await RoleRunner.run(role, operations: operations, logger: logger)
    }
}

/// `belfry registrar`.
struct RegistrarCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrar",
        abstract: "Keep the token state in Redis: registrations and retention; runs until SIGTERM or SIGINT."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let logger = Logger(label: "belfry.registrar")
        let role = try RegistrarRole(configuration, logger: logger)
        let operations = configuration.operations.map {
            OperationsEndpoint(address: $0, source: role.operations, logger: logger)
        }
        try await RoleRunner.run(role, operations: operations, logger: logger)
    }
}

/// `belfry harvester`.
struct HarvesterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "harvester",
        abstract: "Read the feedback service into push.feedback; runs until SIGTERM or SIGINT."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let logger = Logger(label: "belfry.harvester")
        let role = try HarvesterRole(configuration, logger: logger)
        let operations = configuration.operations.map {
            OperationsEndpoint(address: $0, source: role.operations, logger: logger)
        }
        try await RoleRunner.run(role, operations: operations, logger: logger)
    }
}
