#include "benchmark_layout.h"

#include <stdio.h>
#include <string.h>

// MARK: tokens

void bench_token(uint64_t index, uint8_t token[BENCH_TOKEN_BYTES]) {
    // splitmix64, four steps from a start that no other index shares.
    for (int word = 0; word < 4; word++) {
        uint64_t z = (index * 4 + (uint64_t)word + 1) * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
        memcpy(token + word * 8, &z, 8);
    }
}

static uint32_t crc_tables[8][256];

__attribute__((constructor)) static void make_crc_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        crc_tables[0][byte] = crc;
    }
    for (int table = 1; table < 8; table++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[table - 1][byte];
            crc_tables[table][byte] = (crc >> 8) ^ crc_tables[0][crc & 0xFF];
        }
    }
}

uint32_t bench_crc32(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0xFFFFFFFFu;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + 4, 4);
        low ^= crc;
        crc = crc_tables[7][low & 0xFF] ^ crc_tables[6][(low >> 8) & 0xFF]
            ^ crc_tables[5][(low >> 16) & 0xFF] ^ crc_tables[4][low >> 24]
            ^ crc_tables[3][high & 0xFF] ^ crc_tables[2][(high >> 8) & 0xFF]
            ^ crc_tables[1][(high >> 16) & 0xFF] ^ crc_tables[0][high >> 24];
    }
    for (; count > 0; bytes++, count--) crc = (crc >> 8) ^ crc_tables[0][(crc ^ *bytes) & 0xFF];
    return ~crc;
}

// MARK: token state in Redis

size_t bench_state_key_prefix(const char *environment, const char *bundle, uint8_t *key) {
    return (size_t)snprintf((char *)key, BENCH_KEY_LIMIT_BYTES / 2, "t3:{%s:%s:", environment, bundle);
}

size_t bench_directory_key(const char *environment, const char *bundle, unsigned tag, uint8_t *key) {
    return (size_t)snprintf((char *)key, BENCH_KEY_LIMIT_BYTES, "n3:{%s:%s:%02x}", environment, bundle, tag);
}

struct sip_state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static void sip_rounds(struct sip_state *v, int count) {
    while (count-- > 0) {
        v->v0 += v->v1;
        v->v1 = rotate(v->v1, 13) ^ v->v0;
        v->v0 = rotate(v->v0, 32);
        v->v2 += v->v3;
        v->v3 = rotate(v->v3, 16) ^ v->v2;
        v->v0 += v->v3;
        v->v3 = rotate(v->v3, 21) ^ v->v0;
        v->v2 += v->v1;
        v->v1 = rotate(v->v1, 17) ^ v->v2;
        v->v2 = rotate(v->v2, 32);
    }
}

// SipHash-2-4 with 64 bits under the key of BENCH_RULE.
static uint64_t digest(const uint8_t token[BENCH_TOKEN_BYTES]) {
    const uint64_t low = 0x0706050403020100u, high = 0x0F0E0D0C0B0A0908u;
    struct sip_state v = {low ^ 0x736F6D6570736575u, high ^ 0x646F72616E646F6Du, low ^ 0x6C7967656E657261u,
                          high ^ 0x7465646279746573u};
    for (int i = 0; i <= BENCH_TOKEN_BYTES; i += 8) {
        // Behind the whole words of a token there is its length.
        uint64_t word = (uint64_t)BENCH_TOKEN_BYTES << 56;
        if (i < BENCH_TOKEN_BYTES) memcpy(&word, token + i, 8);
        v.v3 ^= word;
        sip_rounds(&v, 2);
        v.v0 ^= word;
    }
    v.v2 ^= 0xFF;
    sip_rounds(&v, 4);
    return v.v0 ^ v.v1 ^ v.v2 ^ v.v3;
}

size_t bench_state_key(
    uint8_t *key, size_t prefix, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t field[BENCH_FIELD_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    uint64_t hash = digest(token);
    memcpy(field, &hash, BENCH_HASH_BYTES);
    memcpy(field + BENCH_HASH_BYTES, token, BENCH_TOKEN_BYTES);
    unsigned tag = (unsigned)(hash >> 56);
    uint8_t *end = key + prefix;
    *end++ = (uint8_t)digits[tag >> 4];
    *end++ = (uint8_t)digits[tag & 15];
    *end++ = '}';
    *end++ = ':';
    unsigned bucket = (unsigned)(hash % BENCH_BUCKETS);
    if (bucket >= 10) *end++ = (uint8_t)('0' + bucket / 10);
    *end++ = (uint8_t)('0' + bucket % 10);
    return (size_t)(end - key);
}

// Little-endian: flags (1) · registered at (4) · with flag 32: described at (4) · with flag 1: tombstoned at (4) and
// reason (1); with flag 2: badge (4) · with flag 4: length of the locale (1) and its text; what follows is of no
// interest here.
enum { STATE_REGISTERED_AT = 1, STATE_FIXED_BYTES = 5 };
enum { STATE_IS_DESCRIBED = 32, STATE_HAS_TOMBSTONE = 1, STATE_HAS_LOCALE = 4 };

void bench_state(uint32_t registered_at, uint8_t state[BENCH_STATE_BYTES]) {
    memset(state, 0, BENCH_STATE_BYTES);
    memcpy(state + STATE_REGISTERED_AT, &registered_at, 4);
}

size_t bench_state_with_locale(uint32_t registered_at, const char *locale, uint8_t state[BENCH_STATE_LIMIT_BYTES]) {
    size_t count = strnlen(locale, BENCH_LOCALE_LIMIT_BYTES);
    bench_state(registered_at, state);
    if (count == 0) return BENCH_STATE_BYTES;
    state[0] |= STATE_HAS_LOCALE;
    state[BENCH_STATE_BYTES] = (uint8_t)count;
    memcpy(state + BENCH_STATE_BYTES + 1, locale, count);
    return BENCH_STATE_BYTES + 1 + count;
}

bool bench_state_allows(const uint8_t *state, size_t count) {
    if (state == NULL || count < STATE_FIXED_BYTES || !(state[0] & STATE_HAS_TOMBSTONE)) return true;
    size_t place = STATE_FIXED_BYTES + (state[0] & STATE_IS_DESCRIBED ? 4 : 0);
    if (count < place + 5) return true;
    uint32_t registered_at, tombstoned_at;
    memcpy(&registered_at, state + STATE_REGISTERED_AT, 4);
    memcpy(&tombstoned_at, state + place, 4);
    return tombstoned_at <= registered_at;
}

// MARK: records

// Protobuf: (field number << 3) | wire type 2, length-delimited.
enum { TAG_REQUEST_ID = 1 << 3 | 2, TAG_PAYLOAD = 3 << 3 | 2, TAG_PACKED_TOKENS = 6 << 3 | 2 };

#define PAYLOAD_HEAD "{\"aps\":{\"alert\":\"Ring the bell: a text of the length that people send\",\"badge\":1},"
#define PAYLOAD_START PAYLOAD_HEAD "\"from\":\"belfry\",\"n\":"
#define PAYLOAD_END "}"
// Seven digits whatever the number, so that every payload has the same size.
enum { NUMBER_DIGITS = 7, FIRST_NUMBER = 1000000, NUMBERS = 9000000 };
_Static_assert(
    sizeof PAYLOAD_START PAYLOAD_END - 1 + NUMBER_DIGITS == BENCH_PAYLOAD_BYTES, "the size that the scenario names");

// The payload with the time of its publisher: as many digits as the largest one has.
#define STAMPED_START PAYLOAD_HEAD "\"at\":\""
#define STAMPED_END "\"}"
enum { STAMP_DIGITS = 20 };
_Static_assert(sizeof STAMPED_START STAMPED_END - 1 + STAMP_DIGITS == BENCH_PAYLOAD_BYTES, "the size of the others");

static size_t put_record(
    const char payload[BENCH_PAYLOAD_BYTES], const uint8_t token[BENCH_TOKEN_BYTES], uint8_t *record) {
    uint8_t *end = record;
    *end++ = TAG_PAYLOAD;
    *end++ = BENCH_PAYLOAD_BYTES;
    memcpy(end, payload, BENCH_PAYLOAD_BYTES);
    end += BENCH_PAYLOAD_BYTES;
    *end++ = TAG_PACKED_TOKENS;
    *end++ = BENCH_TOKEN_BYTES;
    memcpy(end, token, BENCH_TOKEN_BYTES);
    return (size_t)(end + BENCH_TOKEN_BYTES - record);
}

size_t bench_record(uint64_t number, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t record[BENCH_RECORD_LIMIT_BYTES]) {
    char payload[BENCH_PAYLOAD_BYTES + 1];
    snprintf(
        payload, sizeof payload, PAYLOAD_START "%u" PAYLOAD_END, (unsigned)(FIRST_NUMBER + number % NUMBERS));
    return put_record(payload, token, record);
}

size_t bench_stamped_record(
    uint64_t stamp_ns, const uint8_t token[BENCH_TOKEN_BYTES], uint8_t record[BENCH_RECORD_LIMIT_BYTES]) {
    char payload[] = STAMPED_START "00000000000000000000" STAMPED_END;
    for (char *at = payload + sizeof STAMPED_START - 1 + STAMP_DIGITS; stamp_ns > 0; stamp_ns /= 10) {
        *--at = (char)('0' + stamp_ns % 10);
    }
    return put_record(payload, token, record);
}

bool bench_read_stamp(const uint8_t *payload, size_t count, uint64_t *stamp_ns) {
    const size_t start = sizeof STAMPED_START - 1;
    if (count != BENCH_PAYLOAD_BYTES || memcmp(payload, STAMPED_START, start) != 0) return false;
    *stamp_ns = 0;
    for (const uint8_t *at = payload + start; at < payload + start + STAMP_DIGITS; at++) {
        if (*at < '0' || *at > '9') return false;
        *stamp_ns = *stamp_ns * 10 + (*at - '0');
    }
    return true;
}

size_t bench_request_id(uint64_t number, uint8_t field[BENCH_REQUEST_ID_FIELD_BYTES]) {
    char text[BENCH_REQUEST_ID_FIELD_BYTES - 1];
    int count = snprintf(
        text, sizeof text, "5f0d7c1e-3b52-4b7a-8c11-%012llx", (unsigned long long)number & 0xFFFFFFFFFFFFull);
    field[0] = TAG_REQUEST_ID;
    field[1] = (uint8_t)count;
    memcpy(field + 2, text, (size_t)count);
    return (size_t)count + 2;
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool bench_read_record(const uint8_t *record, size_t count, struct bench_request *request) {
    const uint8_t *at = record, *end = record + count;
    size_t token_bytes = 0;
    request->payload_bytes = 0;
    while (at < end) {
        uint64_t tag, length;
        if (!read_varint(&at, end, &tag)) return false;
        // The benchmarks' records hold length-delimited fields only.
        if ((tag & 7) != 2 || !read_varint(&at, end, &length) || length > (uint64_t)(end - at)) return false;
        if (tag == TAG_PAYLOAD) {
            request->payload = at;
            request->payload_bytes = length;
        } else if (tag == TAG_PACKED_TOKENS) {
            request->token = at;
            token_bytes = length;
        }
        at += length;
    }
    request->tokens = token_bytes / BENCH_TOKEN_BYTES;
    return request->tokens > 0 && token_bytes % BENCH_TOKEN_BYTES == 0 && request->payload_bytes > 0
        && request->payload_bytes <= BENCH_PAYLOAD_BYTES;
}

// MARK: frames

static uint8_t *put_header(uint8_t *at, uint8_t item, size_t count) {
    at[0] = item;
    at[1] = (uint8_t)(count >> 8);
    at[2] = (uint8_t)count;
    return at + 3;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value) {
    value = __builtin_bswap32(value);
    memcpy(at, &value, 4);
    return at + 4;
}

static uint8_t *put_bytes(uint8_t *at, const uint8_t *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

size_t bench_frame(const struct bench_request *request, uint32_t identifier, uint8_t *frame) {
    uint8_t *at = frame + 5;
    at = put_u32(put_header(at, 3, 4), identifier);
    at = put_bytes(put_header(at, 1, BENCH_TOKEN_BYTES), request->token, BENCH_TOKEN_BYTES);
    at = put_bytes(put_header(at, 2, request->payload_bytes), request->payload, request->payload_bytes);
    at = put_u32(put_header(at, 4, 4), 0);
    at = put_header(at, 5, 1);
    *at++ = 10;
    frame[0] = 2;
    put_u32(frame + 1, (uint32_t)(at - frame - 5));
    return (size_t)(at - frame);
}

bool bench_read_items(const uint8_t *items, size_t count, struct bench_notification *notification) {
    enum { TOKEN = 1, PAYLOAD = 2, IDENTIFIER = 3, HEADER_BYTES = 3 };
    const uint8_t *at = items, *end = items + count;
    *notification = (struct bench_notification){0};
    while (end - at >= HEADER_BYTES) {
        uint8_t item = at[0];
        size_t bytes = (size_t)at[1] << 8 | at[2];
        at += HEADER_BYTES;
        if (bytes > (size_t)(end - at)) return false;
        if (item == TOKEN) {
            notification->token_bytes = bytes;
        } else if (item == PAYLOAD) {
            notification->payload = at;
            notification->payload_bytes = bytes;
        } else if (item == IDENTIFIER && bytes == 4) {
            memcpy(&notification->identifier, at, 4);
            notification->identifier = __builtin_bswap32(notification->identifier);
        }
        at += bytes;
    }
    return at == end;
}
