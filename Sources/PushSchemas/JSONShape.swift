/// The form that a value has in the JSON mapping of Protobuf, for telling what is wrong with it.
indirect enum JSONShape: Sendable {
    case text
    /// In base64.
    case bytes
    /// Whole numbers of 32 bits without and with a sign, and of 64 bits with one.
    case number32
    case signed32
    case number64
    case fraction
    case flag
    /// An enumeration, as in the schema without the package, and the names of its values in the order of their numbers.
    case choice(String, [String])
    case message(JSONMessageShape)
    case list(JSONShape)
    /// An object with keys of the publisher's own.
    case map(JSONShape)
    /// Any object.
    case object
}

/// The fields of a message. A test holds them against the files of the schema.
final class JSONMessageShape: Sendable {
    /// As in the schema, without the package.
    let name: String
    /// By the name of the schema.
    let fields: [(name: String, shape: JSONShape)]
    /// Their names in the JSON mapping, in the same order.
    private let jsonNames: [String]
    /// Fields of which only one may be set.
    let alternatives: [String]
    /// The field that a plain string stands for; nil: none is accepted.
    let plainString: String?

    private init(
        name: String,
        fields: [(name: String, shape: JSONShape)],
        alternatives: [String] = [],
        plainString: String? = nil
    ) {
        self.name = name
        self.fields = fields
        jsonNames = fields.map { Self.jsonName($0.name) }
        self.alternatives = alternatives
        self.plainString = plainString
    }

    /// The name of a field in the JSON mapping: `payload_json` is `payloadJson`.
    static func jsonName(_ name: String) -> String {
        var text = ""
        var isUpper = false
        for character in name {
            if character == "_" {
                isUpper = true
            } else {
                text += isUpper ? character.uppercased() : String(character)
                isUpper = false
            }
        }
        return text
    }

    /// The field of either name; nil: there is none.
    func field(_ key: String) -> (name: String, shape: JSONShape)? {
        let index = fields.firstIndex { $0.name == key } ?? jsonNames.firstIndex(of: key)
        return index.map { fields[$0] }
    }
}

extension JSONMessageShape {
    /// The shapes of the messages that publishers write, by their full names.
    static func shape(of message: String) -> JSONMessageShape? {
        [sendRequest, registration, feedbackTuple, notification].first { "belfry.push.v1." + $0.name == message }
    }

    static let sendRequest = JSONMessageShape(
        name: "SendRequest",
        fields: [
            ("request_id", .text), ("environment", .text), ("payload", .bytes), ("payload_json", .text),
            ("notification", .message(notification)), ("tokens", .list(.message(deviceToken))),
            ("packed_tokens", .bytes), ("expiration", .number64), ("priority", .number32), ("coalescing_key", .text),
            ("push_type", .text), ("collapse_id", .text), ("channel", .text),
            (
                "report",
                .choice("Report", ["REPORT_UNSPECIFIED", "REPORT_ALL", "REPORT_FAILURES", "REPORT_SUMMARY"])
            ),
        ],
        alternatives: ["payload", "payload_json", "notification"]
    )

    static let registration = JSONMessageShape(
        name: "Registration",
        fields: [
            ("environment", .text), ("token", .message(deviceToken)), ("registered_at", .number64),
            (
                "kind",
                .choice(
                    "RegistrationKind",
                    [
                        "REGISTRATION_KIND_UNSPECIFIED", "REGISTRATION_KIND_REGISTER", "REGISTRATION_KIND_UNREGISTER",
                        "REGISTRATION_KIND_DESCRIBE",
                    ]
                )
            ),
            ("locale", .text), ("time_zone", .text), ("replaced_token", .message(deviceToken)),
        ]
    )

    static let feedbackTuple = JSONMessageShape(
        name: "FeedbackTuple",
        fields: [
            ("environment", .text), ("timestamp", .number32), ("token", .bytes), ("harvested_at", .number64),
        ]
    )

    static let deviceToken = JSONMessageShape(
        name: "DeviceToken",
        fields: [
            ("raw", .bytes), ("hex", .text), ("badge", .number32), ("locale", .text), ("loc_args", .list(.text)),
        ],
        alternatives: ["raw", "hex"],
        plainString: "hex"
    )

    static let notification = JSONMessageShape(
        name: "Notification",
        fields: [
            ("alert", .message(alert)), ("badge", .message(badge)), ("sound", .message(sound)),
            ("content_available", .flag), ("mutable_content", .flag), ("category", .text), ("thread_id", .text),
            ("target_content_id", .text), ("interruption_level", .text), ("relevance_score", .fraction),
            ("filter_criteria", .text), ("live_activity", .message(liveActivity)), ("custom", .object),
            ("localizations", .map(.message(alert))), ("shorten", .flag),
        ]
    )

    static let alert = JSONMessageShape(
        name: "Alert",
        fields: [
            ("title", .text), ("subtitle", .text), ("body", .text), ("loc_key", .text), ("loc_args", .list(.text)),
            ("title_loc_key", .text), ("title_loc_args", .list(.text)), ("subtitle_loc_key", .text),
            ("subtitle_loc_args", .list(.text)), ("action_loc_key", .text), ("without_action", .flag),
            ("launch_image", .text), ("summary_arg", .text),
        ]
    )

    static let badge = JSONMessageShape(
        name: "Badge",
        fields: [("set", .number32), ("add", .signed32), ("clear", .flag)],
        alternatives: ["set", "add", "clear"]
    )

    static let sound = JSONMessageShape(
        name: "Sound",
        fields: [("name", .text), ("critical", .flag), ("volume", .fraction)]
    )

    static let liveActivity = JSONMessageShape(
        name: "LiveActivity",
        fields: [
            ("event", .text), ("timestamp", .number64), ("content_state", .object), ("stale_date", .number64),
            ("dismissal_date", .number64), ("attributes_type", .text), ("attributes", .object),
        ]
    )
}
