// A publisher that keeps a rate and tells consumers when it handed each record over.
#include "load.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "benchmark_histogram.h"
#include "benchmark_layout.h"
#include "benchmark_program.h"

static volatile sig_atomic_t stopping;

static void stop(int signal) {
    (void)signal;
    stopping = 1;
}

// Sleeps until a time of bench_now_ns(); returns at once if that is over.
static void sleep_until(uint64_t ns) {
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {}
}

void load_pace(struct load_pace pace) {
    enum { POLL_RECORDS = 64 };
    struct load_deliveries deliveries = {0};
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    load_set(configuration, "bootstrap.servers", pace.brokers);
    // As `belfry publish` has them. With five requests in flight at most, records wait for each other only while the
    // broker is busy, and then go together.
    load_set(configuration, "enable.idempotence", "true");
    load_set(configuration, "acks", "all");
    // The partitioner of the Kafka contract.
    load_set(configuration, "partitioner", "murmur2_random");
    load_set(configuration, "linger.ms", pace.linger_ms);
    load_set(configuration, "queue.buffering.max.messages", "1000000");
    load_count_deliveries(configuration, &deliveries);
    rd_kafka_t *kafka = load_producer(configuration);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(kafka, pace.topic, NULL);
    const struct rd_kafka_metadata *metadata = NULL;
    if (topic == NULL) bench_fail("%s: %s", pace.topic, rd_kafka_err2str(rd_kafka_last_error()));
    rd_kafka_resp_err_t reached = rd_kafka_metadata(kafka, 0, topic, &metadata, TIMEOUT_MS);
    if (reached) bench_fail("%s: %s", pace.topic, rd_kafka_err2str(reached));
    rd_kafka_metadata_destroy(metadata);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
    // Sleeps end when they should, not up to 50 µs later.
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);

    static struct bench_histogram lateness;
    uint8_t record[BENCH_RECORD_LIMIT_BYTES], token[BENCH_TOKEN_BYTES];
    char key[TEXT_BYTES];
    uint64_t begin = bench_now_ns(), stamp = begin;
    for (uint64_t i = 0; i < pace.count && !stopping; i++) {
        uint64_t due = begin + (uint64_t)((double)i * 1e9 / (double)pace.rate);
        bench_token((pace.first + i) % pace.tokens, token);
        unsigned shard = bench_crc32(token, sizeof token) % (uint32_t)pace.spread;
        int key_bytes = snprintf(key, sizeof key, "%s#%u", pace.bundle, shard);
        if (due > stamp) sleep_until(due);
        // The last moment that is the publisher's: what is late is late here, and what follows is the pipeline's.
        stamp = bench_now_ns();
        bench_histogram_add(&lateness, stamp > due ? stamp - due : 0);
        size_t record_bytes = bench_stamped_record(stamp, token, record);
        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, record, record_bytes, key,
                                (size_t)key_bytes, NULL) != 0) {
            rd_kafka_resp_err_t code = rd_kafka_last_error();
            if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) bench_fail("%s: %s", pace.topic, rd_kafka_err2str(code));
            rd_kafka_poll(kafka, 1);
        }
        if (i % POLL_RECORDS == 0) rd_kafka_poll(kafka, 0);
    }
    double seconds = (double)(bench_now_ns() - begin) / 1e9;
    load_flush(kafka, &deliveries, pace.topic, lateness.count);
    printf("{\"seconds\":%.6f,", seconds);
    bench_histogram_print(&lateness, stdout);
    printf("}\n");
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(kafka);
}
