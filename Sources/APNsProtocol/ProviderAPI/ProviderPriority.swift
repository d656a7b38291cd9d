/// The value of `apns-priority` [later].
public enum ProviderPriority: UInt8, Sendable, Hashable, CaseIterable {
    /// 10: at once. The default of the service.
    case immediate = 10
    /// 5: at a time that saves the device's power.
    case powerSaving = 5
    /// 1: never wakes the device.
    case neverWaking = 1

    /// Reads a header's value.
    public init?(headerValue: UnsafeRawBufferPointer) {
        switch headerValue.count {
        case 1 where headerValue[0] == UInt8(ascii: "5"): self = .powerSaving
        case 1 where headerValue[0] == UInt8(ascii: "1"): self = .neverWaking
        case 2 where headerValue[0] == UInt8(ascii: "1") && headerValue[1] == UInt8(ascii: "0"): self = .immediate
        default: return nil
        }
    }

    /// The text of the header.
    public var headerValue: StaticString {
        switch self {
        case .immediate: "10"
        case .powerSaving: "5"
        case .neverWaking: "1"
        }
    }
}
