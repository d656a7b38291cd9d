@testable import Sandbox

/// Topics as the targets start them: small, since there are several for every input, and with a store that is soon
/// full.
enum FuzzLedger {
    /// All devices online.
    static func make(devices: Int) -> DeviceLedger {
        var settings = DeviceLedger.Settings()
        settings.rememberedPairs = 256
        settings.acceptedEntries = 256
        settings.storageBytes = 2048
        return DeviceLedger(devices: devices, settings: settings)
    }

    /// Every accepted notification has one fate, and nothing is counted that never was.
    static func checkBooks(_ counters: SandboxTopicCounters) throws(BrokenInvariant) {
        let fates =
            counters.delivered + counters.stored + counters.coalesced + counters.expired + counters.evicted
            + counters.feedback
        try expect(fates == counters.accepted, "\(counters.accepted) accepted, \(fates) have a fate")
        try expect(
            min(counters.stored, counters.held, counters.invalidJSON, counters.discarded) >= 0,
            "a count below zero"
        )
        try expect(counters.held <= counters.stored, "more are held than stored")
        try expect(counters.invalidJSON <= counters.delivered, "more are dropped by devices than delivered")
    }
}
