/// The app instances of one topic, one per virtual device: a byte each.
///
/// What is tracked is the app on the device, not the device: each topic has its own idea of whether its app can be
/// reached, so that tests of one topic leave the others alone [ours].
struct DevicePopulation: Sendable {
    /// What becomes of a notification for an app instance.
    enum Reachability: UInt8, Sendable {
        /// Delivered at once.
        case online = 0
        /// Stored until the device returns.
        case offline = 1
        /// The device answers that it has no such app: a matter for the feedback list.
        case uninstalled = 2
    }

    /// Bits 0 and 1: ``Reachability``. Bits 2 to 7: generation.
    private var packed: [UInt8]

    /// All online, all in generation 0.
    init(count: Int) {
        precondition(SandboxLimits.devices.contains(count), "a population of \(count) devices")
        packed = [UInt8](repeating: 0, count: count)
    }

    var count: Int { packed.count }

    /// The reachability of the instance a token names, or `nil` if there is no such device or its app was given
    /// another token since.
    @inline(__always)
    func reachability(of instance: AppInstance) -> Reachability? {
        let device = Int(instance.device)
        guard device < packed.count, packed[device] >> 2 == instance.generation else { return nil }
        return Reachability(rawValue: packed[device] & 3)
    }

    /// The instance a token has to name to reach this device's app. Traps when there is no such device.
    func instance(_ device: Int) -> AppInstance {
        AppInstance(device: UInt32(device), generation: packed[device] >> 2)
    }

    /// Traps when there is no such device.
    mutating func set(_ device: Int, _ reachability: Reachability) {
        packed[device] = packed[device] & ~3 | reachability.rawValue
    }
}
