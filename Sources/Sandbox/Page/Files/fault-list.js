// The faults as the control interface knows them, with what they take. Those of the door (`isOfTheDoor`) strike before
// a topic is known. A setting that is empty from the start may stay so. What is empty, at `silent`, or replaced by
// another (`instead`) is not sent.

const number = (key, label, value, most, extra = {}) => ({ key, label, value, least: 1, most, ...extra });
const count = (value) => number("count", "after", value, 1_000_000_000);

export const FAULTS = [
  {
    group: "Answers",
    faults: [
      {
        name: "error-response", about: "Refuses a connection's n-th notification, or by chance.",
        settings: [
          number("status", "status", 1, 255, { least: 0 }),
          number("every", "number", 100, 1_000_000_000),
          { key: "probability", label: "or chance", value: "", least: 0, most: 1, step: "any", instead: "every" },
          { key: "identifier", label: "identifier", value: "own", choices: ["own", "zero", "wrong"], silent: "own" },
        ],
      },
      {
        name: "answer-delay", about: "Holds every error response back.",
        settings: [number("milliseconds", "ms", 500, 3_600_000, { least: 0 })],
      },
      { name: "shutdown-after", about: "Status 10, naming the last one accepted.", settings: [count(1000)] },
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
        settings: [number("milliseconds", "ms", 200, 3_600_000, { least: 0 })],
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
