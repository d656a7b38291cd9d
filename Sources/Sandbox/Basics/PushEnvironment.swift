/// One of the two worlds of the push service: certificates and tokens of one mean nothing in the other [10] [13].
public enum PushEnvironment: UInt8, Sendable, Hashable {
    /// Real users. The raw values are part of the tokens.
    case production = 1
    /// Apps under development; Apple calls it the sandbox.
    case development = 2
}
