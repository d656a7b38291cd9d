/// The meaning of each reason of a dead letter, and the cure.
public enum DeadLetterReasons {
    /// A sentence or two for a person to read; nil: the reason is none of this version's.
    public static func explanation(of reason: String) -> String? {
        if reason.hasPrefix("gateway-status-") {
            return
                "The gateway refused the content with this status. Look it up in Deploy/RUNBOOK.md; publish corrected."
        }
        return table[reason]
    }

    /// All reasons but those of gateways, in order.
    public static var all: [String] { table.keys.sorted() }

    private static let table: [String: String] = [
        "key-missing": "The record has no key. Publish with the bundle ID as key.",
        "key-not-utf8": "The key is not UTF-8. Publish with the bundle ID as key.",
        "key-without-bundle": "Nothing stands before the key's '#'. Publish with <bundle ID>#<shard>.",
        "bundle-invalid": "The key names no bundle ID that could be one. Publish with the app's bundle ID.",
        "shard-invalid": "Behind the key's '#' stands no shard. Compute it as Schemas/README.md says.",
        "value-empty": "The record has no value. Look at the publisher.",
        "value-undecodable":
            "The value is not the Kafka topic's message in Protobuf or JSON, bare or in Confluent's frame. The detail "
            + "names the fault: a field, or JSON without the header content-type. Publish corrected.",
        "value-too-large":
            "The record is larger than 1 MiB, or its JSON has more than 65,536 values. Split the tokens over several "
            + "records.",
        "headers-too-large":
            "The record's headers have more than 16 KiB, or cannot be read. Publish with those that are passed on.",
        "environment-unknown": "The environment is not configured. Correct its name, or configure it and replay.",
        "environment-needed": "Several environments are configured. Name one in the request.",
        "payload-missing": "The request has neither payload nor notification. Look at the publisher.",
        "payload-invalid":
            "The payload is no JSON of the right form, or too long; the detail says where. Publish corrected.",
        "notification-invalid": "A field of the notification is wrong; the detail names it. Publish corrected.",
        "notification-too-large":
            "The notification has more values than any payload has room for. Look at the publisher.",
        "overrides-misplaced":
            "Tokens have a badge, locale or loc_args beside a payload in bytes. Publish a notification in parts.",
        "sensitive-data":
            "A payment card or social-security number in what users see; the detail says where. Publish without it.",
        "tokens-missing": "The request names neither tokens nor a channel. Look at the publisher.",
        "tokens-too-many": "The request has more than 32,768 tokens. Split them over several records.",
        "tokens-ambiguous": "The request names tokens in two ways. Use one.",
        "packed-tokens-length": "packed_tokens is no multiple of 32 bytes. Longer tokens belong into tokens.",
        "token-missing": "A token is empty. Look at the publisher's data.",
        "token-not-hexadecimal": "A token is not hexadecimal. Bytes belong into raw, digits into hex.",
        "token-length": "A token has a length that the environment does not take. See token-limit.",
        "token-outside-shard":
            "The token belongs under another key. The publisher's spread is not the configuration's.",
        "expiration-out-of-range": "expiration is no UNIX time in seconds. Are they milliseconds?",
        "priority-invalid": "The priority is not allowed for transport and push type; the detail says which are.",
        "coalescing-key-too-long": "coalescing_key has more than 255 bytes. Shorten or hash it.",
        "report-invalid": "report is none that the worker knows. Is the publisher newer than the worker?",
        "push-type-invalid": "push_type is none, or none that fits. The detail lists them.",
        "collapse-id-invalid": "collapse_id cannot be a header's value: 1 to 64 bytes without control characters.",
        "provider-key-needed":
            "None of the app's credentials may send the push type, which the detail names. Bring a key, and replay.",
        "channel-unsupported": "A broadcast to an environment with the binary interface, which knows no channels.",
        "channel-invalid": "channel is no channel id. Use the one that belfry channels create prints.",
        "broadcast-incomplete": "A broadcast needs expiration and priority. Set both.",
        "bundles-too-many":
            "A bundle that only the team's key serves, beyond the limit. Give it an entry under apps, and replay.",
        "bundle-without-certificate":
            "The bundle had neither certificate nor registered tokens for too long. Bring the certificate, and replay.",
        "request-unanswered":
            "The gateway never answered it, several times: something in it stops the gateway. Publish it changed.",
        "timestamp-out-of-range": "The registration's time is no UNIX time in seconds. Are they milliseconds?",
        "timestamp-in-future": "The registration is dated ahead of its record. Set the publisher's clock.",
        "feedback-token-length": "A feedback tuple with a token that is none. Is that the feedback service?",
        "feedback-timestamp-absurd": "A feedback tuple with an absurd time. Is that the feedback service?",
        "feedback-timestamp-in-future": "A feedback tuple dated ahead. Set the harvester's clock.",
        "tuple-incomplete": "A feedback tuple that another program wrote, and that lacks a field.",
        "token-state-refused": "Redis refused the change for good; the detail has its words. Mend it, and replay.",
    ]
}
