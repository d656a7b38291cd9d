// The floor of `belfry publish`: a bare loop of rd_kafka_produce over records that lie ready in memory.
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark_layout.h"
#include "benchmark_program.h"

// Records that lie ready; the loop goes round them. All their bytes together stay far below a gibibyte.
enum { READY_BYTES = 64 << 20, MOST_READY = 1 << 16 };
// Protobuf: the payload stands first in a record, behind its tag and its length of one byte each.
enum { PAYLOAD_FIELD_BYTES = 2 + BENCH_PAYLOAD_BYTES, TAG_PACKED_TOKENS = 6 << 3 | 2, LENGTH_LIMIT_BYTES = 5 };

struct ready {
    uint8_t *value;
    size_t value_bytes;
    char key[TEXT_BYTES];
    size_t key_bytes;
};

static void make_ready(struct ready *ready, struct load_loop loop, uint64_t number) {
    size_t tokens_bytes = loop.tokens_per_record * BENCH_TOKEN_BYTES;
    uint8_t record[BENCH_RECORD_LIMIT_BYTES], token[BENCH_TOKEN_BYTES];
    ready->value = malloc(PAYLOAD_FIELD_BYTES + 1 + LENGTH_LIMIT_BYTES + tokens_bytes);
    if (ready->value == NULL) bench_fail("no memory for records");
    uint64_t first = number * loop.tokens_per_record;
    bench_token(first, token);
    bench_record(number, token, record);
    uint8_t *end = ready->value;
    memcpy(end, record, PAYLOAD_FIELD_BYTES);
    end += PAYLOAD_FIELD_BYTES;
    *end++ = TAG_PACKED_TOKENS;
    size_t length = tokens_bytes;
    for (; length > 0x7F; length >>= 7) *end++ = (uint8_t)(length | 0x80);
    *end++ = (uint8_t)length;
    for (uint64_t i = 0; i < loop.tokens_per_record; i++, end += BENCH_TOKEN_BYTES) bench_token(first + i, end);
    ready->value_bytes = (size_t)(end - ready->value);
    // The key of a record's first token: nobody reads the records, but they spread over the partitions as others do.
    unsigned shard = bench_crc32(token, sizeof token) % (uint32_t)loop.spread;
    ready->key_bytes = (size_t)snprintf(ready->key, sizeof ready->key, "%s#%u", loop.bundle, shard);
}

void load_loop(struct load_loop loop) {
    uint64_t count = READY_BYTES / (PAYLOAD_FIELD_BYTES + loop.tokens_per_record * BENCH_TOKEN_BYTES);
    if (count > MOST_READY) count = MOST_READY;
    if (count > loop.records) count = loop.records;
    struct ready *ready = calloc(count, sizeof *ready);
    if (ready == NULL || count == 0) bench_fail("no memory for records");
    for (uint64_t i = 0; i < count; i++) make_ready(&ready[i], loop, i);

    struct load_deliveries deliveries = {0};
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    // As `belfry publish` has them.
    load_set(configuration, "bootstrap.servers", loop.brokers);
    load_set(configuration, "enable.idempotence", "true");
    load_set(configuration, "acks", "all");
    load_set(configuration, "message.max.bytes", "8388608");
    load_set(configuration, "linger.ms", "5");
    load_set(configuration, "partitioner", "murmur2_random");
    load_set(configuration, "queue.buffering.max.messages", "1000000");
    load_count_deliveries(configuration, &deliveries);
    rd_kafka_t *kafka = load_producer(configuration);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(kafka, loop.topic, NULL);
    const struct rd_kafka_metadata *metadata = NULL;
    if (topic == NULL) bench_fail("%s: %s", loop.topic, rd_kafka_err2str(rd_kafka_last_error()));
    rd_kafka_resp_err_t reached = rd_kafka_metadata(kafka, 0, topic, &metadata, TIMEOUT_MS);
    if (reached) bench_fail("%s: %s", loop.topic, rd_kafka_err2str(reached));
    rd_kafka_metadata_destroy(metadata);

    uint64_t begin = bench_now_ns();
    double cpu = bench_cpu_us();
    for (uint64_t number = 0; number < loop.records; number++) {
        const struct ready *record = &ready[number % count];
        // No flags: the values stay where they are until they are acknowledged.
        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, 0, record->value, record->value_bytes, record->key,
                                record->key_bytes, NULL) != 0) {
            rd_kafka_resp_err_t code = rd_kafka_last_error();
            if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) bench_fail("%s: %s", loop.topic, rd_kafka_err2str(code));
            rd_kafka_poll(kafka, 100);
        }
        if (number % 1024 == 0) rd_kafka_poll(kafka, 0);
    }
    load_flush(kafka, &deliveries, loop.topic, loop.records);
    printf("{\"seconds\":%.6f,\"cpu_us\":%.0f}\n", (double)(bench_now_ns() - begin) / 1e9, bench_cpu_us() - cpu);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(kafka);
    for (uint64_t i = 0; i < count; i++) free(ready[i].value);
    free(ready);
}
