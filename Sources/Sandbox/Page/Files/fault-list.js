// The faults as the control interface knows them, with what they take. Those of the door (`isOfTheDoor`) strike before
// a topic is known. A setting that is empty from the start may stay so. What is empty, at `silent`, or replaced by
// another (`instead`) is not sent.

const number = (key, label, value, most, extra = {}) => ({ key, label, value, least: 1, most, ...extra });
const count = (value) => number("count", "after", value, 1_000_000_000);
const chance = { key: "probability", label: "or chance", value: "", least: 0, most: 1, step: "any", instead: "every" };
const milliseconds = (value) => number("milliseconds", "ms", value, 3_600_000, { least: 0 });
const code = (value, choices) => ({ key: "code", label: "code", value, choices });
// All that are documented: first those that befall a service in order, then by status.
const REASONS = [
  "InternalServerError", "ServiceUnavailable", "Shutdown", "TooManyRequests", "Unregistered", "ExpiredToken",
  "BadDeviceToken", "DeviceTokenNotForTopic", "IdleTimeout", "BadCollapseId", "BadExpirationDate", "BadMessageId",
  "BadPriority", "BadTopic", "DuplicateHeaders", "InvalidPushType", "MissingDeviceToken", "MissingTopic",
  "PayloadEmpty", "TopicDisallowed", "BadChannelId", "BadRequestParams", "BadRequestPayload",
  "CannotCreateChannelConfig", "ChannelNotRegistered", "FeatureNotEnabled", "MissingChannelId", "MissingPushType",
  "BadCertificate", "BadCertificateEnvironment", "Forbidden", "TopicMismatch", "BadEnvironmentKeyIdInToken",
  "BadEnvironmentKeyInToken", "InvalidProviderToken", "MissingProviderToken", "ExpiredProviderToken",
  "UnrelatedKeyIdInToken", "BadPath", "MethodNotAllowed", "PayloadTooLarge", "TooManyProviderTokenUpdates",
];

export const FAULTS = [
  {
    group: "Answers",
    faults: [
      {
        name: "error-response", about: "Refuses a connection's n-th notification, or by chance.",
        settings: [
          number("status", "status", 1, 255, { least: 0 }),
          number("every", "number", 100, 1_000_000_000),
          chance,
          { key: "identifier", label: "identifier", value: "own", choices: ["own", "zero", "wrong"], silent: "own" },
        ],
      },
      {
        name: "answer-delay", about: "Holds error responses back, and every answer over HTTP/2.",
        settings: [milliseconds(500)],
      },
      {
        name: "shutdown-after", about: "Status 10, naming the last one accepted; GOAWAY over HTTP/2.",
        settings: [count(1000)],
      },
      { name: "sentinel-silence", about: "An empty token gets no answer.", settings: [] },
    ],
  },
  {
    group: "Stream",
    faults: [
      { name: "close-after", about: "The end of the stream, without a packet.", settings: [count(1000)] },
      { name: "reset-after", about: "A reset, without a packet.", settings: [count(1000)] },
      { name: "silence-after", about: "Half-open: from then on nothing is read or answered.", settings: [count(1000)] },
      {
        name: "stall-after", about: "Stops reading after so many, for a time or for good.",
        settings: [
          count(1000), { key: "milliseconds", label: "ms", value: "", least: 1, most: 86_400_000, hint: "∞" },
        ],
      },
      {
        name: "slow-reader", about: "Reads no faster.",
        settings: [number("bytesPerSecond", "bytes/s", 10_000, 1_000_000_000)],
      },
      {
        name: "round-trip", about: "Adds time to every answer, as a long way would.",
        settings: [milliseconds(200)],
      },
    ],
  },
  {
    group: "Provider API",
    faults: [
      {
        name: "request-error", about: "Refuses a connection's n-th request, or by chance.",
        settings: [
          { key: "reason", label: "reason", value: REASONS[0], choices: REASONS },
          { key: "status", label: "status", value: "", least: 400, most: 599, hint: "usual" },
          number("every", "number", 100, 1_000_000_000), chance,
        ],
      },
      {
        name: "stream-reset", about: "Resets streams; with another code than the first they were accepted.",
        settings: [
          code("REFUSED_STREAM", ["REFUSED_STREAM", "INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM"]),
          number("every", "number", 100, 1_000_000_000), chance,
        ],
      },
      {
        name: "goaway-after", about: "GOAWAY: later streams are not processed.",
        settings: [
          count(1000),
          { key: "reason", label: "reason", value: "Shutdown", choices: REASONS },
          code("NO_ERROR", ["NO_ERROR", "ENHANCE_YOUR_CALM", "INTERNAL_ERROR", "PROTOCOL_ERROR"]),
        ],
      },
      { name: "mute-after", about: "Takes requests and answers none, but pings.", settings: [count(1000)] },
      {
        name: "answer-shuffle", about: "Holds each answer back for a random time up to this.",
        settings: [milliseconds(50)],
      },
      {
        name: "stream-limit", about: "No more streams at once.",
        settings: [number("count", "most", 1, 1000, { least: 0 })],
      },
      { name: "stream-collapse", about: "A rejection leaves one stream, until the next success.", settings: [] },
      {
        name: "window-size", about: "Windows for bodies of this size.",
        settings: [number("bytes", "bytes", 1000, 1 << 30, { least: 0 })],
      },
      { name: "window-stall", about: "Windows that are used up stay so.", settings: [] },
      {
        name: "token-clock", isOfTheDoor: true, about: "The clock that judges provider tokens is ahead.",
        settings: [number("seconds", "seconds", 4000, 86_400, { least: -86_400 })],
      },
    ],
  },
  {
    group: "Door",
    faults: [
      { name: "refuse-connects", isOfTheDoor: true, about: "Closes connections before the handshake.", settings: [] },
      { name: "refuse-handshakes", isOfTheDoor: true, about: "Breaks the handshake off.", settings: [] },
      { name: "refuse-certificates", isOfTheDoor: true, about: "Turns every certificate away.", settings: [] },
      {
        name: "connection-limit", about: "No more connections than this at once.",
        settings: [number("count", "most", 2, 1_000_000, { least: 0 })],
      },
      {
        name: "connect-rate-limit", isOfTheDoor: true, about: "Too many connects are taken for an attack.",
        settings: [number("perMinute", "a minute", 60, 100_000)],
      },
    ],
  },
  {
    group: "Feedback",
    faults: [
      {
        name: "feedback-cut", about: "Ends the list in the middle of a tuple.",
        settings: [number("bytes", "after bytes", 20, 1 << 30, { least: 0 })],
      },
    ],
  },
];
