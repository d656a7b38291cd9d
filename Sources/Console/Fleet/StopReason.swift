/// The reasons why a topic does not work, in words, and the runbook's entries about them.
enum StopReason {
    private static let table: [String: (words: String, alert: String)] = [
        "certificate-missing": ("no valid certificate or key for it is there", "BelfryCertificateMissing"),
        "certificate-refused": ("the gateway does not take its certificate", "BelfryTopicRefused"),
        "topic-refused": ("its certificate, or key, and the bundle do not belong together", "BelfryTopicRefused"),
        "team-refused": ("the service refuses the key of its team, or this clock is wrong", "BelfryTopicRefused"),
        "tokens-doubted": (
            "too many tokens are called invalid; they may be of another environment", "BelfryTokensDoubted"
        ),
        "service-trouble": ("the service answers with troubles of its own", "BelfryGatewayTrouble"),
        "proxy-refused": ("the proxy refuses the configured user and password", "BelfryTopicRefused"),
        "unreachable": ("no gateway takes its notifications", "BelfryGatewayTrouble"),
    ]

    /// The reason itself, for one that this console does not know.
    static func words(for reason: String) -> String { table[reason]?.words ?? reason }

    /// The runbook's entry; nil: this console does not know the reason.
    static func alert(for reason: String) -> String? { table[reason]?.alert }
}
