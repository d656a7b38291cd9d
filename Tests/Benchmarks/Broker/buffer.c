#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark_program.h"
#include "broker.h"

uint8_t *buffer_room(struct buffer *buffer, size_t count) {
    if (buffer->start > 0 && buffer->start == buffer->end) buffer->start = buffer->end = 0;
    if (buffer->end + count > buffer->capacity && buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, buffer->end - buffer->start);
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (buffer->end + count > buffer->capacity) {
        buffer->capacity = 2 * (buffer->end + count);
        buffer->data = realloc(buffer->data, buffer->capacity);
        if (buffer->data == NULL) bench_fail("out of memory");
    }
    return buffer->data + buffer->end;
}

void buffer_put(struct buffer *buffer, const void *bytes, size_t count) {
    if (count == 0) return;
    memcpy(buffer_room(buffer, count), bytes, count);
    buffer->end += count;
}

void buffer_put_i16(struct buffer *buffer, int16_t value) {
    uint16_t bytes = htobe16((uint16_t)value);
    buffer_put(buffer, &bytes, sizeof bytes);
}

void buffer_put_i32(struct buffer *buffer, int32_t value) {
    uint32_t bytes = htobe32((uint32_t)value);
    buffer_put(buffer, &bytes, sizeof bytes);
}

void buffer_put_i64(struct buffer *buffer, int64_t value) {
    uint64_t bytes = htobe64((uint64_t)value);
    buffer_put(buffer, &bytes, sizeof bytes);
}

void buffer_set_i32(struct buffer *buffer, size_t place, int32_t value) {
    uint32_t bytes = htobe32((uint32_t)value);
    memcpy(buffer->data + buffer->start + place, &bytes, sizeof bytes);
}

const uint8_t *read_bytes(struct reader *reader, size_t count) {
    static const uint8_t zeros[8];
    if (count > (size_t)(reader->end - reader->at)) {
        reader->is_short = true;
        reader->at = reader->end;
        return zeros;
    }
    reader->at += count;
    return reader->at - count;
}

int8_t read_i8(struct reader *reader) { return (int8_t)*read_bytes(reader, 1); }

int16_t read_i16(struct reader *reader) {
    uint16_t value;
    memcpy(&value, read_bytes(reader, sizeof value), sizeof value);
    return (int16_t)be16toh(value);
}

int32_t read_i32(struct reader *reader) {
    uint32_t value;
    memcpy(&value, read_bytes(reader, sizeof value), sizeof value);
    return (int32_t)be32toh(value);
}

int64_t read_i64(struct reader *reader) {
    uint64_t value;
    memcpy(&value, read_bytes(reader, sizeof value), sizeof value);
    return (int64_t)be64toh(value);
}

struct text read_text(struct reader *reader) {
    struct text text = {.count = read_i16(reader)};
    if (text.count > 0) text.bytes = read_bytes(reader, (size_t)text.count);
    return text;
}
