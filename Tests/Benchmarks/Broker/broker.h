// The parts of belfry-bench-broker: growing buffers, the log of the Kafka topic, and the requests that it answers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: buffers

// Bytes of `data` from `start` to `end` are in it.
struct buffer {
    uint8_t *data;
    size_t start, end, capacity;
};

// Makes room for `count` more bytes behind `end`; returns where they begin.
uint8_t *buffer_room(struct buffer *buffer, size_t count);
void buffer_put(struct buffer *buffer, const void *bytes, size_t count);
void buffer_put_i16(struct buffer *buffer, int16_t value);
void buffer_put_i32(struct buffer *buffer, int32_t value);
void buffer_put_i64(struct buffer *buffer, int64_t value);
// Overwrites four bytes at a place, counted from `start`.
void buffer_set_i32(struct buffer *buffer, size_t place, int32_t value);

// A request that is being read; what is beyond its end reads as zeros and sets `is_short`.
struct reader {
    const uint8_t *at, *end;
    bool is_short;
};

const uint8_t *read_bytes(struct reader *reader, size_t count);
int8_t read_i8(struct reader *reader);
int16_t read_i16(struct reader *reader);
int32_t read_i32(struct reader *reader);
int64_t read_i64(struct reader *reader);

struct text {
    const uint8_t *bytes;
    // -1: null.
    int16_t count;
};

struct text read_text(struct reader *reader);

// MARK: log

// Makes the log of a topic: its partitions are empty, each keeps its last megabytes.
void log_make(const char *topic, int32_t partitions);

// The name is that of the topic.
bool log_has(struct text topic);

// Appends a record batch and gives it its offsets. Returns its first offset; -1: there is no such partition, or it is
// no batch.
int64_t log_append(int32_t partition, const uint8_t *batch, size_t count);

// The first offset that is kept, and one past the last.
bool log_extent(int32_t partition, int64_t *low, int64_t *high);

// Appends whole batches from that with `offset` on to `out`, at least one and as long as they fit `limit`; returns
// their bytes. -1: the offset is not in the log.
int64_t log_read(int32_t partition, int64_t offset, size_t limit, struct buffer *out);

// MARK: requests

enum api { API_PRODUCE = 0, API_FETCH = 1, API_LIST_OFFSETS = 2 };

struct request {
    int16_t api, version;
    int32_t correlation;
    // Behind the header.
    struct reader body;
};

// Reads the header of a request, which begins behind its length.
struct request request_parse(const uint8_t *bytes, size_t count);

// The request is for records of the topic, so that it is answered here.
bool request_is_ours(struct request request);

// Appends the answer to `out`. True if the request appended to the log.
bool request_produce(struct request request, struct buffer *out);

// Appends the answer to `out` if there are the records that it asks for, or `is_due`: it has waited for long enough.
// Returns false, with nothing appended, if it is to wait for `wait_ms`.
bool request_fetch(struct request request, bool is_due, struct buffer *out, int32_t *wait_ms);

// Appends the answer to `out`.
void request_list_offsets(struct request request, struct buffer *out);
