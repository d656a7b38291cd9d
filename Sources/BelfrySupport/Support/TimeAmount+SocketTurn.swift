import NIOCore

extension TimeAmount {
    /// Pause before a next turn, in which an event loop that has little else to do looks at its sockets. On a busy one
    /// it is over before that: roles that take turns one after the other ask their consumer for the next round.
    package static let socketTurn = TimeAmount.microseconds(50)
}
