#include "broker.h"

#include <string.h>

#include "benchmark_program.h"

// The versions that librdkafka and the embedded broker agree on; in ListOffsets 2 to 5 are known.
enum { PRODUCE_VERSION = 7, FETCH_VERSION = 11, LEAST_LIST_VERSION = 2, MOST_LIST_VERSION = 5 };
enum { OFFSET_OUT_OF_RANGE = 1, UNKNOWN_TOPIC_OR_PARTITION = 3 };
static const int64_t BEGINNING = -2;

struct request request_parse(const uint8_t *bytes, size_t count) {
    struct reader reader = {bytes, bytes + count, false};
    struct request request = {0};
    request.api = read_i16(&reader);
    request.version = read_i16(&reader);
    request.correlation = read_i32(&reader);
    // The client's name.
    read_text(&reader);
    request.body = reader;
    return request;
}

static void skip_to_topics(struct request *request) {
    struct reader *body = &request->body;
    switch (request->api) {
    case API_PRODUCE:
        // Name of a transaction, acknowledgements, time-out.
        read_text(body);
        read_bytes(body, 2 + 4);
        break;
    case API_FETCH:
        // Replica, wait, least bytes, most bytes, isolation, session, its epoch.
        read_bytes(body, 4 + 4 + 4 + 4 + 1 + 4 + 4);
        break;
    default:
        // Replica, isolation.
        read_bytes(body, 4 + 1);
    }
}

bool request_is_ours(struct request request) {
    if (request.api != API_PRODUCE && request.api != API_FETCH && request.api != API_LIST_OFFSETS) return false;
    bool is_known = request.api == API_PRODUCE ? request.version == PRODUCE_VERSION
        : request.api == API_FETCH ? request.version == FETCH_VERSION
        : request.version >= LEAST_LIST_VERSION && request.version <= MOST_LIST_VERSION;
    if (!is_known) bench_fail("request %d is of version %d", request.api, request.version);
    skip_to_topics(&request);
    int32_t topics = read_i32(&request.body);
    if (topics < 1 || !log_has(read_text(&request.body))) return false;
    if (topics > 1) bench_fail("a request is for other topics, too");
    return true;
}

// Begins an answer; returns the place of its length.
static size_t begin(struct request request, struct buffer *out) {
    size_t place = out->end - out->start;
    buffer_put_i32(out, 0);
    buffer_put_i32(out, request.correlation);
    return place;
}

static void finish(struct buffer *out, size_t place) {
    buffer_set_i32(out, place, (int32_t)(out->end - out->start - place - 4));
}

// Goes on behind the number of topics, and answers with one.
static int32_t put_topic(struct reader *body, struct buffer *out) {
    read_i32(body);
    struct text topic = read_text(body);
    int32_t partitions = read_i32(body);
    buffer_put_i32(out, 1);
    buffer_put_i16(out, topic.count);
    buffer_put(out, topic.bytes, (size_t)topic.count);
    buffer_put_i32(out, partitions);
    return partitions;
}

bool request_produce(struct request request, struct buffer *out) {
    size_t place = begin(request, out);
    struct reader *body = &request.body;
    skip_to_topics(&request);
    bool has_grown = false;
    for (int32_t left = put_topic(body, out); left > 0 && !body->is_short; left--) {
        int32_t partition = read_i32(body), bytes = read_i32(body);
        const uint8_t *batch = read_bytes(body, bytes > 0 ? (size_t)bytes : 0);
        int64_t base = body->is_short ? -1 : log_append(partition, batch, (size_t)bytes), low = -1, high;
        log_extent(partition, &low, &high);
        has_grown |= base >= 0;
        buffer_put_i32(out, partition);
        buffer_put_i16(out, base < 0 ? UNKNOWN_TOPIC_OR_PARTITION : 0);
        buffer_put_i64(out, base);
        buffer_put_i64(out, -1);
        buffer_put_i64(out, low);
    }
    // Throttle time.
    buffer_put_i32(out, 0);
    finish(out, place);
    return has_grown;
}

bool request_fetch(struct request request, bool is_due, struct buffer *out, int32_t *wait_ms) {
    size_t place = begin(request, out);
    struct reader *body = &request.body;
    read_i32(body);
    *wait_ms = read_i32(body);
    int64_t least = read_i32(body), left = read_i32(body), taken = 0;
    read_bytes(body, 1 + 4 + 4);
    // Throttle time, error, session.
    buffer_put_i32(out, 0);
    buffer_put_i16(out, 0);
    buffer_put_i32(out, 0);
    bool has_error = false;
    for (int32_t count = put_topic(body, out); count > 0 && !body->is_short; count--) {
        int32_t partition = read_i32(body);
        read_i32(body);
        int64_t offset = read_i64(body), low = -1, high = -1, most;
        read_i64(body);
        most = read_i32(body);
        int16_t error = 0;
        if (!log_extent(partition, &low, &high)) error = UNKNOWN_TOPIC_OR_PARTITION;
        else if (offset < low || offset > high) error = OFFSET_OUT_OF_RANGE;
        has_error |= error != 0;
        buffer_put_i32(out, partition);
        buffer_put_i16(out, error);
        // The end, the end of what is committed, the beginning, no aborted transactions, no other replica.
        buffer_put_i64(out, high);
        buffer_put_i64(out, high);
        buffer_put_i64(out, low);
        buffer_put_i32(out, 0);
        buffer_put_i32(out, -1);
        size_t records = out->end - out->start;
        buffer_put_i32(out, 0);
        if (error != 0 || left <= 0) continue;
        int64_t bytes = log_read(partition, offset, (size_t)(most < left ? most : left), out);
        buffer_set_i32(out, records, (int32_t)bytes);
        left -= bytes;
        taken += bytes;
    }
    if (!is_due && !has_error && taken < least && *wait_ms > 0) {
        out->end = out->start + place;
        return false;
    }
    finish(out, place);
    return true;
}

void request_list_offsets(struct request request, struct buffer *out) {
    size_t place = begin(request, out);
    struct reader *body = &request.body;
    skip_to_topics(&request);
    buffer_put_i32(out, 0);
    for (int32_t left = put_topic(body, out); left > 0 && !body->is_short; left--) {
        int32_t partition = read_i32(body);
        if (request.version >= 4) read_i32(body);
        int64_t time = read_i64(body), low = -1, high = -1;
        bool is_known = log_extent(partition, &low, &high);
        buffer_put_i32(out, partition);
        buffer_put_i16(out, is_known ? 0 : UNKNOWN_TOPIC_OR_PARTITION);
        buffer_put_i64(out, -1);
        buffer_put_i64(out, time == BEGINNING ? low : high);
        if (request.version >= 4) buffer_put_i32(out, 0);
    }
    finish(out, place);
}
