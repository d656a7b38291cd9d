/// The parts that are fuzzed: all that reads bytes of an unknown peer, and what a publisher sizes.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A provider's stream into the gateway, down to the topic's ledger.
    case gateway
    /// The feedback service's stream into the provider.
    case feedback
    /// A device's stream into the courier, and the courier's into the device.
    case courier
    /// A client's stream into the provider API, down to the topics' ledgers.
    case api
    /// A server's stream into the provider's side of HTTP/2.
    case client
    /// A publisher's record into decoders, rules and renderers: its cost.
    case record

    /// Runs the code under test on one input and checks what must hold whatever the input is.
    ///
    /// - Parameter input: any bytes; see ``FuzzInput``.
    /// - Throws: what does not hold. A trap is a finding too.
    public func run(_ input: UnsafeRawBufferPointer) throws(BrokenInvariant) {
        let input = FuzzInput(input)
        switch self {
        case .gateway: try GatewayFuzz(input).run()
        case .feedback: try FeedbackFuzz(input).run()
        case .courier: try CourierFuzz(input).run()
        case .api: try APIFuzz(input).run()
        case .client: try ClientFuzz(input).run()
        case .record: try RecordFuzz(input).run()
        }
    }
}

/// A finding that is not a crash by itself.
public struct BrokenInvariant: Error, CustomStringConvertible {
    /// The condition that does not hold.
    public let description: String
}

/// - Throws: ``BrokenInvariant`` if the condition is false.
func expect(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokenInvariant) {
    guard condition else { throw BrokenInvariant(description: description()) }
}
