/// Initial state of the topics of a sandbox, and the size of their memory.
public struct LedgerConfiguration: Sendable {
    /// Seconds between the times at which notifications of priority 5 are delivered, 0.01...86,400.
    public var powerSavingInterval = 10.0
    /// Memory for the notifications that wait for their devices, all topics together, in MiB, 1...1,048,576. Taken only
    /// as far as it is needed.
    public var storageMiB = 256
    /// Seed of all chance: the same seed, the same population.
    public var seed: UInt64 = 0
    /// Shares of the devices that are not online at the beginning.
    public var initial = PopulationShares()
    /// Rates at which devices change their state by themselves.
    public var churn = ChurnRates()
    /// Pairs of (token, mark) that each topic tells apart, 1...2²⁶. 16 bytes each at most.
    public var rememberedPairs = SandboxLimits.rememberedPairs
    /// Pairs for which each topic makes room as soon as it is used: while it makes more, it stands still.
    public var expectedPairs = 0
    /// Acceptances that each topic remembers in order, 1...2²⁸; 8 bytes each.
    public var acceptedEntries = SandboxLimits.acceptedEntries
    /// File for every acceptance, see `belfry sandbox accepted`; `nil` = none.
    public var acceptedLogFile: String?
    /// Acceptances are counted by the titles of their alerts.
    public var countsTitles = false

    /// A quiet population.
    public init() {}

    /// - Throws: ``SandboxSetupError`` naming the setting.
    func check() throws(SandboxSetupError) {
        guard (0.01...86_400).contains(powerSavingInterval) else {
            let problem = "\(powerSavingInterval), 0.01 to 86400 seconds are possible"
            throw SandboxSetupError(subject: "power-saving-interval", problem: problem)
        }
        let numbers = [
            ("storage-mib", storageMiB, 1...1 << 20), ("remembered-pairs", rememberedPairs, 1...1 << 26),
            ("accepted-entries", acceptedEntries, 1...1 << 28),
        ]
        for (name, value, range) in numbers where !range.contains(value) {
            let problem = "\(value), \(range.lowerBound) to \(range.upperBound) are possible"
            throw SandboxSetupError(subject: name, problem: problem)
        }
        try initial.check()
        try churn.check()
    }

    /// Settings for one of so many topics. Each has chance of its own.
    func settings(topic index: Int, of topics: Int) -> DeviceLedger.Settings {
        var settings = DeviceLedger.Settings()
        settings.topic = UInt16(index)
        settings.storageBytes = min(storageMiB << 20 / topics, SandboxLimits.storageBytes)
        settings.recentBytes = SandboxLimits.recentBytes / topics
        settings.rememberedPairs = rememberedPairs
        settings.expectedPairs = expectedPairs
        settings.acceptedEntries = acceptedEntries
        settings.seed = seed &+ UInt64(index) &* 0xd1b5_4a32_d192_ed03
        settings.initial = initial
        settings.churn = churn
        settings.countsTitles = countsTitles
        settings.recordedRecords = acceptedLogFile == nil ? 0 : SandboxLimits.recordedRecords
        return settings
    }
}
