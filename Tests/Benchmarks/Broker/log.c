#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark_program.h"
#include "broker.h"

// A ring of batches, the oldest of which go when there are too many, or too many bytes of them.
enum { RING = 1 << 16, KEPT_BYTES = 8 << 20 };
// A record batch of Kafka: base offset (8), length of what follows (4), leader epoch (4), magic (1), checksum (4) of
// what follows, attributes (2), last offset's distance from the base (4), …
enum { BASE_BYTES = 8, MAGIC_PLACE = 16, MAGIC = 2, LAST_PLACE = 23, LEAST_BYTES = 61 };

struct batch {
    int64_t base, end;
    size_t bytes;
    uint8_t *data;
};

struct partition {
    struct batch *ring;
    uint64_t first, next;
    size_t bytes;
    int64_t high;
};

static struct {
    const char *topic;
    int32_t count;
    struct partition *partitions;
} log_;

void log_make(const char *topic, int32_t partitions) {
    log_.topic = topic;
    log_.count = partitions;
    log_.partitions = calloc((size_t)partitions, sizeof *log_.partitions);
    if (log_.partitions == NULL) bench_fail("out of memory");
    for (int32_t i = 0; i < partitions; i++) {
        log_.partitions[i].ring = calloc(RING, sizeof(struct batch));
        if (log_.partitions[i].ring == NULL) bench_fail("out of memory");
    }
}

bool log_has(struct text topic) {
    return topic.count == (int16_t)strlen(log_.topic) && memcmp(topic.bytes, log_.topic, (size_t)topic.count) == 0;
}

static struct partition *find(int32_t partition) {
    return partition >= 0 && partition < log_.count ? &log_.partitions[partition] : NULL;
}

static struct batch *at(struct partition *partition, uint64_t number) { return &partition->ring[number % RING]; }

static void drop_oldest(struct partition *partition) {
    struct batch *oldest = at(partition, partition->first++);
    partition->bytes -= oldest->bytes;
    free(oldest->data);
}

int64_t log_append(int32_t number, const uint8_t *bytes, size_t count) {
    struct partition *partition = find(number);
    if (partition == NULL || count < LEAST_BYTES || bytes[MAGIC_PLACE] != MAGIC) return -1;
    while (partition->next - partition->first == RING || partition->bytes > KEPT_BYTES) drop_oldest(partition);
    uint32_t last;
    memcpy(&last, bytes + LAST_PLACE, sizeof last);
    struct batch *batch = at(partition, partition->next++);
    *batch = (struct batch){.base = partition->high, .bytes = count, .data = malloc(count)};
    if (batch->data == NULL) bench_fail("out of memory");
    batch->end = partition->high = batch->base + be32toh(last) + 1;
    partition->bytes += count;
    // The base lies before what the checksum is of.
    uint64_t base = htobe64((uint64_t)batch->base);
    memcpy(batch->data, &base, BASE_BYTES);
    memcpy(batch->data + BASE_BYTES, bytes + BASE_BYTES, count - BASE_BYTES);
    return batch->base;
}

bool log_extent(int32_t number, int64_t *low, int64_t *high) {
    struct partition *partition = find(number);
    if (partition == NULL) return false;
    *high = partition->high;
    *low = partition->first < partition->next ? at(partition, partition->first)->base : partition->high;
    return true;
}

int64_t log_read(int32_t number, int64_t offset, size_t limit, struct buffer *out) {
    int64_t low, high;
    if (!log_extent(number, &low, &high) || offset < low || offset > high) return -1;
    struct partition *partition = find(number);
    // The first batch that ends behind the offset.
    uint64_t from = partition->first, to = partition->next;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (at(partition, middle)->end > offset) to = middle;
        else from = middle + 1;
    }
    size_t bytes = 0;
    for (; from < partition->next; from++) {
        struct batch *batch = at(partition, from);
        if (bytes > 0 && bytes + batch->bytes > limit) break;
        buffer_put(out, batch->data, batch->bytes);
        bytes += batch->bytes;
    }
    return (int64_t)bytes;
}
