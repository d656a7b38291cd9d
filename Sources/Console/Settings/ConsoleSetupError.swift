/// The console cannot be set up as it was told to.
public struct ConsoleSetupError: Error, Equatable, Sendable, CustomStringConvertible {
    /// In words that name the option.
    public let description: String

    init(_ description: String) { self.description = description }
}
