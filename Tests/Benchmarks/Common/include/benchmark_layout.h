// The pipeline's contracts as far as the benchmarks use them, written by hand: the floor must pay for nothing but the
// bytes themselves. Sources: Schemas/belfry/push/v1/send_request.proto for the record, the token state in Redis as the
// registrar writes it. The worker reads the same bytes through the pipeline's own code, so a layout that has drifted
// shows at once: its notifications become dead letters and never reach the sink.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_TOKEN_BYTES = 32,
    // Of a token's digest, before the token in its field.
    BENCH_HASH_BYTES = 3,
    BENCH_FIELD_BYTES = BENCH_HASH_BYTES + BENCH_TOKEN_BYTES,
    BENCH_PAYLOAD_BYTES = 110,
    // Upper bounds of what the functions below write.
    BENCH_RECORD_LIMIT_BYTES = 256,
    BENCH_REQUEST_ID_FIELD_BYTES = 38,
    BENCH_FRAME_LIMIT_BYTES = 256,
    BENCH_KEY_LIMIT_BYTES = 256,
    // A token state with neither locale nor time zone.
    BENCH_STATE_BYTES = 5,
    BENCH_LOCALE_LIMIT_BYTES = 35,
    BENCH_STATE_LIMIT_BYTES = BENCH_STATE_BYTES + 1 + BENCH_LOCALE_LIMIT_BYTES,
    // Buckets that the tokens of a hash tag lie in: a power of two up to 64; 64 tokens each with 262,144 tokens.
    BENCH_BUCKETS = 16,
    // Hash tags of a bundle.
    BENCH_TAGS = 256,
};

// The token of a device: 32 bytes that look random and depend on the index alone.
void bench_token(uint64_t index, uint8_t token[BENCH_TOKEN_BYTES]);

// CRC-32 (IEEE 802.3), which places a token on a shard.
uint32_t bench_crc32(const uint8_t *bytes, size_t count);

// The rule by which tokens lie, as it stands in Redis under BENCH_RULE_KEY.
#define BENCH_RULE_KEY "k:tokens"
#define BENCH_RULE "3 000102030405060708090a0b0c0d0e0f"

// Writes `t3:{<environment>:<bundle>:` once; returns its length.
size_t bench_state_key_prefix(const char *environment, const char *bundle, uint8_t *key);

// Appends `<xx>}:<bucket>` to a prefix of `prefix` bytes at `key`: the hash that has the token's state. Writes the
// token's field in it, too. Returns the length of the whole key.
size_t bench_state_key(
    uint8_t *key, size_t prefix, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t field[BENCH_FIELD_BYTES]);

// Writes the key that says how many buckets a hash tag has; returns its length.
size_t bench_directory_key(const char *environment, const char *bundle, unsigned tag, uint8_t *key);

// A token registered at `registered_at` (UNIX seconds) and not tombstoned.
void bench_state(uint32_t registered_at, uint8_t state[BENCH_STATE_BYTES]);

// The same with a locale, of at most BENCH_LOCALE_LIMIT_BYTES; empty: without one. Returns the length.
size_t bench_state_with_locale(uint32_t registered_at, const char *locale, uint8_t state[BENCH_STATE_LIMIT_BYTES]);

// True if a notification may go to a token with this state: the last registration is not older than the tombstone.
// NULL: nothing is known of the token, so it may.
bool bench_state_allows(const uint8_t *state, size_t count);

// Notification `number` to `token` as a SendRequest in Protobuf: a payload of 110 bytes and the token packed.
// Returns the length.
size_t bench_record(uint64_t number, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t record[BENCH_RECORD_LIMIT_BYTES]);

// The same with a payload of as many bytes that ends with a time of its publisher's, see bench_now_ns, in place of its
// number. Returns the length.
size_t bench_stamped_record(
    uint64_t stamp_ns, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t record[BENCH_RECORD_LIMIT_BYTES]);

// Reads the time at the end of a payload; false if there is none.
bool bench_read_stamp(const uint8_t *payload, size_t count, uint64_t *stamp_ns);

// The request id of notification `number`, as the field of a SendRequest that may stand before a record; always of the
// length of a UUID's text. Returns the length.
size_t bench_request_id(uint64_t number, uint8_t field[BENCH_REQUEST_ID_FIELD_BYTES]);

// The places of tokens and payload inside a record.
struct bench_request {
    // Of 32 bytes each, end to end. A frame has the first one.
    const uint8_t *token;
    size_t tokens;
    const uint8_t *payload;
    size_t payload_bytes;
};

// Finds tokens and payload; false when the record is not a request for packed tokens of 32 bytes.
bool bench_read_record(const uint8_t *record, size_t count, struct bench_request *request);

// The parts of a frame that a gateway looks at. A notification without a token is a sentinel.
struct bench_notification {
    const uint8_t *payload;
    size_t token_bytes, payload_bytes;
    uint32_t identifier;
};

// Reads the items behind the five bytes of a command 2 frame's header; false if they do not fill it.
bool bench_read_items(const uint8_t *items, size_t count, struct bench_notification *notification);

// The request for its first token as a command 2 frame with all five items, identifier first. Returns the length.
size_t bench_frame(const struct bench_request *request, uint32_t identifier, uint8_t *frame);
