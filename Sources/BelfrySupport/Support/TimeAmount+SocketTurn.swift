import NIOCore

extension TimeAmount {
    /// Pause before a next turn, in which the event loop looks at its sockets. Longer than it takes to get there.
    package static let socketTurn = TimeAmount.microseconds(50)
}
