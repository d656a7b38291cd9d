// belfry-bench-floor: the least a worker must do for a notification, and nothing else, in one thread.
//
//   --brokers B --topic T --redis HOST:PORT --environment E --bundle B
//   --gateway HOST:PORT --trust FILE --identity FILE (certificate and key, PEM)
//   --look-up 0|1 (default 1; 0: Redis is not asked)  --count N (default: go on until SIGTERM)
//
// A batch of up to 512 records from librdkafka. For up to 512 of their tokens at a time: HGETs of the states in one
// pipeline, a command 2 frame each, one SSL_write. No validation, no ledger, no commit, no outcomes. It starts at the
// end of every partition, prints {"ready":true} when it will miss nothing from then on, and at its end one JSON line;
// CPU time is that of all threads of the process, librdkafka's included, since the first record.
#include <hiredis/hiredis.h>
#include <librdkafka/rdkafka.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchmark_layout.h"
#include "benchmark_program.h"

enum { BATCH = 512, TIMEOUT_MS = 30000, TEXT_BYTES = 512, KEEP_BYTES = 256 << 20 };

static volatile sig_atomic_t stopping;

static void stop(int signal) {
    (void)signal;
    stopping = 1;
}

// MARK: the three servers

static rd_kafka_t *connect_broker(const char *brokers) {
    char reason[TEXT_BYTES];
    // The group is never joined: partitions are assigned by hand and nothing is committed. No limit on what is fetched
    // ahead: librdkafka that has reached one looks again only after up to a second.
    const char *settings[][2] = {
        {"bootstrap.servers", brokers}, {"group.id", "belfry-bench-floor"}, {"enable.auto.commit", "false"},
        {"queued.min.messages", "10000000"}, {"queued.max.messages.kbytes", "2097151"}};
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (rd_kafka_conf_set(configuration, settings[i][0], settings[i][1], reason, sizeof reason)) {
            bench_fail("%s: %s", settings[i][0], reason);
        }
    }
    rd_kafka_t *kafka = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, reason, sizeof reason);
    if (kafka == NULL) bench_fail("no consumer: %s", reason);
    rd_kafka_poll_set_consumer(kafka);
    return kafka;
}

// Assigns every partition from its present end on. The ends are asked for, since "from the end" would be resolved only
// at some later moment.
static void assign_ends(rd_kafka_t *kafka, const char *topic) {
    const rd_kafka_metadata_t *metadata;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(kafka, topic, NULL);
    rd_kafka_resp_err_t code = rd_kafka_metadata(kafka, 0, handle, &metadata, TIMEOUT_MS);
    if (code) bench_fail("%s: %s", topic, rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_t *partitions = rd_kafka_topic_partition_list_new(16);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++) {
        int32_t partition = metadata->topics[0].partitions[i].id;
        int64_t low, high;
        code = rd_kafka_query_watermark_offsets(kafka, topic, partition, &low, &high, TIMEOUT_MS);
        if (code) bench_fail("%s/%d: %s", topic, partition, rd_kafka_err2str(code));
        rd_kafka_topic_partition_list_add(partitions, topic, partition)->offset = high;
    }
    if (partitions->cnt == 0) bench_fail("%s: no such topic", topic);
    code = rd_kafka_assign(kafka, partitions);
    if (code) bench_fail("%s: %s", topic, rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_destroy(partitions);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
}

static redisContext *connect_redis(const char *address) {
    char host[256], port[8];
    bench_host_port(address, host, port);
    redisContext *redis = redisConnect(host, atoi(port));
    if (redis == NULL || redis->err) bench_fail("redis %s: %s", address, redis ? redis->errstr : "no memory");
    return redis;
}

static SSL *connect_gateway(const char *address, const char *trust, const char *identity) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_load_verify_file(context, trust) != 1
        || SSL_CTX_use_certificate_chain_file(context, identity) != 1
        || SSL_CTX_use_PrivateKey_file(context, identity, SSL_FILETYPE_PEM) != 1) {
        bench_fail("%s or %s cannot be read", trust, identity);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    char host[256], port[8];
    bench_host_port(address, host, port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *info;
    if (getaddrinfo(host, port, &hints, &info) != 0) bench_fail("%s: no such host", address);
    int descriptor = socket(info->ai_family, info->ai_socktype, 0);
    if (connect(descriptor, info->ai_addr, info->ai_addrlen) != 0) bench_fail("%s: cannot connect", address);
    freeaddrinfo(info);
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, descriptor) != 1 || SSL_connect(ssl) != 1) {
        ERR_print_errors_fp(stderr);
        bench_fail("%s: the TLS handshake failed", address);
    }
    SSL_CTX_free(context);
    return ssl;
}

// MARK: the loop

struct floor {
    rd_kafka_queue_t *queue;
    // NULL: it is not asked.
    redisContext *redis;
    SSL *gateway;
    size_t prefix_bytes;
    uint32_t identifier;
    uint64_t sent;
    struct bench_request requests[BATCH];
    uint8_t keys[BATCH][BENCH_KEY_LIMIT_BYTES];
    uint8_t fields[BATCH][BENCH_FIELD_BYTES];
    uint8_t frames[BATCH * BENCH_FRAME_LIMIT_BYTES];
};

// Asks Redis for the states of the requests' tokens.
static void ask(struct floor *floor, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t key_bytes = bench_state_key(
            floor->keys[i], floor->prefix_bytes, floor->requests[i].token, floor->fields[i]);
        const char *words[] = {"HGET", (const char *)floor->keys[i], (const char *)floor->fields[i]};
        size_t bytes[] = {4, key_bytes, BENCH_FIELD_BYTES};
        redisAppendCommandArgv(floor->redis, 3, words, bytes);
    }
}

// The next answer of Redis: whether the token may be sent to.
static bool is_allowed(struct floor *floor) {
    redisReply *state;
    if (redisGetReply(floor->redis, (void **)&state) != REDIS_OK) bench_fail("redis: %s", floor->redis->errstr);
    if (state->type == REDIS_REPLY_ERROR) bench_fail("redis: %s", state->str);
    const uint8_t *bytes = state->type == REDIS_REPLY_STRING ? (const uint8_t *)state->str : NULL;
    bool is_allowed = bench_state_allows(bytes, (size_t)state->len);
    freeReplyObject(state);
    return is_allowed;
}

// Looks the requests' tokens up, if it does so at all, and sends the frames of those that are alive.
static void send_batch(struct floor *floor, size_t count) {
    if (floor->redis != NULL) ask(floor, count);
    uint8_t *end = floor->frames;
    for (size_t i = 0; i < count; i++) {
        if (floor->redis != NULL && !is_allowed(floor)) continue;
        end += bench_frame(&floor->requests[i], ++floor->identifier, end);
        floor->sent++;
    }
    if (end > floor->frames && SSL_write(floor->gateway, floor->frames, (int)(end - floor->frames)) <= 0) {
        bench_fail("the gateway closed the connection");
    }
}

// Decodes the messages, and sends what of them is a request, to each of its tokens.
static void send_messages(struct floor *floor, rd_kafka_message_t **messages, size_t count) {
    size_t requests = 0;
    for (size_t i = 0; i < count; i++) {
        struct bench_request request;
        if (messages[i]->err) bench_fail("kafka: %s", rd_kafka_message_errstr(messages[i]));
        if (!bench_read_record(messages[i]->payload, messages[i]->len, &request)) continue;
        for (; request.tokens > 0; request.tokens--, request.token += BENCH_TOKEN_BYTES) {
            floor->requests[requests++] = request;
            if (requests < BATCH) continue;
            send_batch(floor, requests);
            requests = 0;
        }
    }
    if (requests > 0) send_batch(floor, requests);
}

int main(int argc, char **argv) {
    const char *brokers = NULL, *topic = NULL, *redis = NULL, *environment = NULL, *bundle = NULL, *gateway = NULL;
    const char *trust = NULL, *identity = NULL, *look_up = "1", *limit = "0";
    bench_options(argc, argv, (struct bench_option[]){
        {"brokers", &brokers}, {"topic", &topic}, {"redis", &redis}, {"environment", &environment},
        {"bundle", &bundle}, {"gateway", &gateway}, {"trust", &trust}, {"identity", &identity},
        {"look-up", &look_up}, {"count", &limit}, {NULL, NULL}});
    uint64_t count = bench_number("count", limit);
    // Keep freed memory: librdkafka's fetch buffers come and go by the megabyte, and fresh pages cost faults.
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    mallopt(M_TOP_PAD, KEEP_BYTES / 16);
    signal(SIGPIPE, SIG_IGN);
    // Without SA_RESTART a blocked poll of librdkafka returns soon enough by its own time limit.
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);

    struct floor *floor = calloc(1, sizeof *floor);
    if (floor == NULL) bench_fail("out of memory");
    for (size_t i = 0; i < BATCH; i++) {
        floor->prefix_bytes = bench_state_key_prefix(environment, bundle, floor->keys[i]);
    }
    floor->gateway = connect_gateway(gateway, trust, identity);
    if (bench_number("look-up", look_up) > 0) floor->redis = connect_redis(redis);
    rd_kafka_t *kafka = connect_broker(brokers);
    assign_ends(kafka, topic);
    floor->queue = rd_kafka_queue_get_consumer(kafka);
    printf("{\"ready\":true}\n");
    fflush(stdout);

    double cpu_start_us = 0;
    uint64_t start_ns = 0, end_ns = 0;
    while (!stopping && (count == 0 || floor->sent < count)) {
        rd_kafka_message_t *messages[BATCH];
        // A batch call waits until the batch is full: it waits for one message, and takes what else there is.
        ssize_t received = rd_kafka_consume_batch_queue(floor->queue, 100, messages, 1);
        if (received <= 0) continue;
        ssize_t more = rd_kafka_consume_batch_queue(floor->queue, 0, messages + 1, BATCH - 1);
        if (more > 0) received += more;
        if (start_ns == 0) {
            start_ns = bench_now_ns();
            cpu_start_us = bench_cpu_us();
        }
        send_messages(floor, messages, (size_t)received);
        for (ssize_t i = 0; i < received; i++) rd_kafka_message_destroy(messages[i]);
        end_ns = bench_now_ns();
    }
    double seconds = (double)(end_ns - start_ns) / 1e9;
    double divisor = floor->sent > 0 ? (double)floor->sent : 1;
    printf("{\"notifications\":%lu,\"seconds\":%.4f,\"cpu_us\":%.4f,\"rate\":%.0f}\n", floor->sent, seconds,
           (bench_cpu_us() - cpu_start_us) / divisor, seconds > 0 ? (double)floor->sent / seconds : 0);
    SSL_shutdown(floor->gateway);
    rd_kafka_queue_destroy(floor->queue);
    rd_kafka_consumer_close(kafka);
    rd_kafka_destroy(kafka);
    return 0;
}
