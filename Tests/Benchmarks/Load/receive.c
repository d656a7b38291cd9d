// The floor of the time from publisher to gateway: a consumer that does nothing but read the stamps of records.
#include "load.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchmark_histogram.h"
#include "benchmark_layout.h"
#include "benchmark_program.h"

// Guarded by `lock`; `grown` is signalled when it grows.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t grown;
    uint64_t records;
    struct bench_histogram latency;
} received = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rd_kafka_t *make_consumer(const char *brokers) {
    char reason[TEXT_BYTES];
    // For low latency: a fetch is answered as soon as there is a byte (`fetch.min.bytes` is 1 by default), and one that
    // finds nothing soon. The group is never joined and nothing is committed.
    const char *settings[][2] = {
        {"bootstrap.servers", brokers}, {"group.id", "belfry-bench-receive"}, {"enable.auto.commit", "false"},
        {"fetch.wait.max.ms", "10"}, {"queued.min.messages", "1000000"}};
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        load_set(configuration, settings[i][0], settings[i][1]);
    }
    rd_kafka_t *kafka = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, reason, sizeof reason);
    if (kafka == NULL) bench_fail("no consumer: %s", reason);
    rd_kafka_poll_set_consumer(kafka);
    return kafka;
}

// Assigns every partition from its present end on.
static void assign_ends(rd_kafka_t *kafka, const char *topic) {
    const rd_kafka_metadata_t *metadata;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(kafka, topic, NULL);
    rd_kafka_resp_err_t code = rd_kafka_metadata(kafka, 0, handle, &metadata, TIMEOUT_MS);
    if (code) bench_fail("%s: %s", topic, rd_kafka_err2str(code));
    int count = metadata->topics[0].partition_cnt;
    if (count == 0) bench_fail("%s: no such topic", topic);
    rd_kafka_topic_partition_list_t *partitions = rd_kafka_topic_partition_list_new(count);
    for (int32_t i = 0; i < count; i++) {
        int64_t low, high;
        code = rd_kafka_query_watermark_offsets(kafka, topic, i, &low, &high, TIMEOUT_MS);
        if (code) bench_fail("%s/%d: %s", topic, i, rd_kafka_err2str(code));
        rd_kafka_topic_partition_list_add(partitions, topic, i)->offset = high;
    }
    code = rd_kafka_assign(kafka, partitions);
    if (code) bench_fail("%s: %s", topic, rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_destroy(partitions);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
}

// Counts a message by the time `now`, at which it was received; under the lock.
static void count_message(const rd_kafka_message_t *message, uint64_t now) {
    struct bench_request request;
    uint64_t stamp;
    if (message->err) bench_fail("kafka: %s", rd_kafka_message_errstr(message));
    if (!bench_read_record(message->payload, message->len, &request)
        || !bench_read_stamp(request.payload, request.payload_bytes, &stamp)) return;
    received.records++;
    bench_histogram_add(&received.latency, now > stamp ? now - stamp : 0);
}

static void *consume(void *argument) {
    rd_kafka_t *kafka = argument;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(kafka);
    for (;;) {
        enum { BATCH = 512 };
        rd_kafka_message_t *messages[BATCH];
        // A batch call waits until the batch is full: it waits for one message, and takes what else there is.
        ssize_t count = rd_kafka_consume_batch_queue(queue, 100, messages, 1);
        if (count <= 0) continue;
        ssize_t more = rd_kafka_consume_batch_queue(queue, 0, messages + 1, BATCH - 1);
        uint64_t now = bench_now_ns();
        if (more > 0) count += more;
        pthread_mutex_lock(&received.lock);
        for (ssize_t i = 0; i < count; i++) count_message(messages[i], now);
        pthread_cond_signal(&received.grown);
        pthread_mutex_unlock(&received.lock);
        for (ssize_t i = 0; i < count; i++) rd_kafka_message_destroy(messages[i]);
    }
}

// Waits for so many records since the start, or so many milliseconds; prints what was counted since the last time.
static void report(uint64_t records, uint64_t milliseconds) {
    uint64_t deadline = bench_now_ns() + milliseconds * 1000000u;
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u), .tv_nsec = (long)(deadline % 1000000000u)};
    pthread_mutex_lock(&received.lock);
    while (received.records < records) {
        if (pthread_cond_timedwait(&received.grown, &received.lock, &until) == ETIMEDOUT) break;
    }
    printf("{\"records\":%" PRIu64 ",", received.records);
    bench_histogram_print(&received.latency, stdout);
    printf("}\n");
    memset(&received.latency, 0, sizeof received.latency);
    pthread_mutex_unlock(&received.lock);
    fflush(stdout);
}

void load_receive(const char *brokers, const char *topic) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&received.grown, &attributes);
    rd_kafka_t *kafka = make_consumer(brokers);
    assign_ends(kafka, topic);
    pthread_t thread;
    if (pthread_create(&thread, NULL, consume, kafka) != 0) bench_fail("no thread");
    printf("{\"ready\":true}\n");
    fflush(stdout);
    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t records, milliseconds;
        if (sscanf(line, "latency %" SCNu64 " %" SCNu64, &records, &milliseconds) != 2) {
            bench_fail("not a command: %s", line);
        }
        report(records, milliseconds);
    }
    // The thread is in a call of librdkafka's, and nothing was committed that would have to be said.
    exit(0);
}
