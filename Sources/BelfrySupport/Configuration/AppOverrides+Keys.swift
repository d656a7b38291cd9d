import APNsProtocol
import PipelineCore

extension AppOverrides {
    typealias Key = ConfigurationKey<AppOverrides>

    static let keys: [Key] = [
        Key(
            "unknown-fate",
            \.unknownFate,
            .optional(.choice),
            standard: "the worker's",
            counts: "for connections that are lost from then on"
        ) { "as `worker.unknown-fate`" },
        Key(
            "spread",
            \.spread,
            .optional(.integer(1...65_536)),
            standard: "not checked",
            counts: "for records taken in from then on"
        ) {
            """
            over how many [keys](../Schemas/README.md#keys) the bundle is spread; a [pace](OPERATE.md#levers) is \
            divided by them, and an `urgent-quota`
            """
        },
        Key(
            "payload-limit",
            \.payloadLimitBytes,
            .optional(.integer(EnvironmentSettings.payloadLimits)),
            standard: "the environment's",
            counts: "for records taken in from then on"
        ) { "bytes; counts where the environment's does" },
        Key(
            "coalescing-window",
            \.coalescingWindow,
            .optional(.duration(BelfryConfiguration.coalescingWindows)),
            standard: "the worker's",
            counts: "for windows that begin from then on"
        ) { "as `worker.coalescing-window`" },
        Key(
            "urgent-warm",
            \.urgentWarm,
            .boolean,
            counts: "at once; connections that are not kept any more go when they are idle"
        ) {
            """
            connections of the app in the urgent lane are opened before anything is to be sent, and kept open, see \
            [Keep an app warm](LANES.md#keep-an-app-warm)
            """
        },
        Key(
            "urgent-quota",
            \.urgentQuota,
            .optional(.integer(0...100_000_000)),
            standard: "none",
            counts: "for records taken in from then on"
        ) {
            """
            tokens a minute that stay in the [lane](../Schemas/README.md#lanes) urgent, of all workers together; what \
            is over it goes into the lane normal, see [Quotas](LANES.md#quotas)
            """
        },
        Key(
            "sensitive-data",
            \.sensitiveData,
            .choice,
            counts: "for records taken in from then on, and for the warnings in outcomes"
        ) {
            """
            payment card and US social-security numbers in what users see: `off` (nobody looks), `warn` (sent, with a \
            warning in the outcome), `refuse` (a dead letter), see \
            [Sensitive data](../Schemas/README.md#sensitive-data)
            """
        },
        Key(
            "ttl",
            \.ttl,
            .optional(.duration(EnvironmentSettings.ttls)),
            standard: "the environment's",
            counts: "for notifications handed to their connections from then on"
        ) { "as `environments.<name>.ttl`" },
        Key("team", \.team, .optional(.providerID), standard: "`keys.team`") {
            "team whose provider key the app uses, see [Provider keys](RUN.md#provider-keys)"
        },
        Key("key", \.key, .optional(.providerID), standard: "the team's") {
            "ID of the provider key that the app uses"
        },
    ]

    /// - Parameter keys: of the whole configuration.
    init(reading section: ConfigurationSection, keys: KeySettings) {
        self.init()
        for key in Self.keys { key.read(section, &self) }
        if keys.directory == nil {
            if team != nil { section.refuseKeyless("team") }
            if key != nil { section.refuseKeyless("key") }
        } else if key != nil, team == nil, keys.team == nil {
            section.refuse(
                "key",
                found: "a key without its team",
                allowed: "a key beside team, or beside keys.team"
            )
        }
        section.reportUnknownKeys()
    }
}

extension ConfigurationSection {
    /// Reports a setting that means nothing without provider keys.
    func refuseKeyless(_ key: String) {
        refuse(key, found: "a \(key) without keys.directory", allowed: "a \(key) beside keys.directory")
    }
}
