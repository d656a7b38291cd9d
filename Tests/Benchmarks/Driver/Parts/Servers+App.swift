import Foundation
import Workbench

extension Servers {
    /// Writes into Redis by what rule tokens lie, and that so many of the app are registered.
    ///
    /// - Parameter locales: of the tokens in turns; empty: they have none.
    func register(tokens: Int, redis: String, locales: [String] = []) throws {
        try run(
            "registrations",
            program: programs.load,
            arguments: [
                "register", "--redis", redis, "--environment", BenchmarkApp.environment,
                "--bundle", BenchmarkApp.bundle, "--tokens", "\(tokens)",
            ] + (locales.isEmpty ? [] : ["--locales", locales.joined(separator: ",")])
        )
    }

    /// Writes a role's configuration. Returns the arguments with which the role starts.
    func configure(_ role: String, _ yaml: String) throws -> [String] {
        try workspace.write(yaml, to: "\(role).yaml")
        return [role, "--config", workspace.file("\(role).yaml").path]
    }

    /// Starts a role of the program under test with a configuration.
    func startRole(_ role: String, _ yaml: String) throws -> ChildProcess {
        try start(role, program: programs.belfry, arguments: configure(role, yaml))
    }
}
