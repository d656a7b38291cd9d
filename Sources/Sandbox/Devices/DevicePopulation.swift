import SeededNumbers

/// The app instances of one topic, one per virtual device: a byte each.
///
/// The app on the device is tracked, not the device: each topic has its own idea of whether its app can be reached, so
/// that tests of one topic leave the others alone [ours].
struct DevicePopulation: Sendable {
    /// The fate of a notification for an app instance.
    enum Reachability: UInt8, Sendable, CaseIterable {
        /// Delivered at once.
        case online = 0
        /// Stored until the device returns.
        case offline = 1
        /// The device answers that it has no such app: a matter for the feedback list.
        case uninstalled = 2
        /// There is no such device any more: its token is invalid.
        case removed = 3
    }

    /// Number of devices in each state.
    struct Counts: Sendable, Equatable {
        var online = 0
        var offline = 0
        var uninstalled = 0
        var removed = 0

        subscript(state: Reachability) -> Int {
            get {
                switch state {
                case .online: online
                case .offline: offline
                case .uninstalled: uninstalled
                case .removed: removed
                }
            }
            set {
                switch state {
                case .online: online = newValue
                case .offline: offline = newValue
                case .uninstalled: uninstalled = newValue
                case .removed: removed = newValue
                }
            }
        }
    }

    /// Kept with every change.
    private(set) var counts: Counts

    /// Bits 0 and 1: ``Reachability``. Bits 2 to 7: generation.
    fileprivate var packed: [UInt8]

    /// All online, all in generation 0.
    init(count: Int) {
        precondition(SandboxLimits.devices.contains(count), "a population of \(count) devices")
        packed = .inHugePages(repeating: 0, count: count)
        counts = Counts(online: count)
    }

    /// All in generation 0, spread over the states by chance: the same for the same seed.
    init(count: Int, shares: PopulationShares, seed: UInt64) {
        self.init(count: count)
        guard shares != PopulationShares() else { return }
        var random = SeededGenerator(seed: seed)
        // Of 2^32, so that 1 means all of them.
        let offline = UInt64(shares.offline * 4_294_967_296)
        let missing = offline + UInt64(shares.uninstalled * 4_294_967_296)
        for device in 0..<count {
            let lot = random.next() >> 32
            guard lot < missing else { continue }
            set(device, lot < offline ? .offline : .uninstalled)
        }
    }

    var count: Int { packed.count }

    /// The reachability of the instance a token names, or `nil` if its token is not valid: there is no such device, it
    /// was removed, or its app was given another token since.
    @inline(__always)
    func reachability(of instance: AppInstance) -> Reachability? {
        let device = Int(instance.device)
        guard device < packed.count else { return nil }
        let byte = packed[device]
        guard byte >> 2 == instance.generation, byte & 3 != Reachability.removed.rawValue else { return nil }
        return Reachability(rawValue: byte & 3)
    }

    /// The state of a device's app. Traps when there is no such device.
    @inline(__always)
    func state(_ device: Int) -> Reachability {
        guard let state = Reachability(rawValue: packed[device] & 3) else { preconditionFailure("two bits") }
        return state
    }

    /// Has what is known of a device fetched: see ``DeviceLedger/anticipate(_:)``.
    @inline(__always)
    func prefetch(_ device: UInt32) {
        packed.prefetch(Int(device))
    }

    /// The instance a token has to name to reach this device's app. Traps when there is no such device.
    func instance(_ device: Int) -> AppInstance {
        AppInstance(device: UInt32(device), generation: packed[device] >> 2)
    }

    /// Traps when there is no such device.
    mutating func set(_ device: Int, _ reachability: Reachability) {
        counts[state(device)] -= 1
        counts[reachability] += 1
        packed[device] = packed[device] & ~3 | reachability.rawValue
    }

    /// The app has a new token from now on and is online. After 64 tokens the first one is valid again [ours].
    ///
    /// Traps when there is no such device.
    mutating func renew(_ device: Int) {
        set(device, .online)
        packed[device] = packed[device] &+ 4
    }

    /// Two populations with the same fingerprint are the same.
    var fingerprint: UInt64 {
        packed.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension DevicePopulation {
    /// Lends the packed bytes of some devices, whose bits 0 and 1 are the ``Reachability``, for as long as `body` runs.
    ///
    /// Traps when there are no such devices.
    func withPackedStates(_ devices: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        packed.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[devices])) }
    }
}
