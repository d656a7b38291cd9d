// belfry-bench-load: writes token states, publishes and receives one-token requests, and measures publishers.
//
//   register --redis HOST:PORT --environment E --bundle B --tokens N [--locales L,M,…]
//   publish  --brokers B --topic T --bundle B --spread S --tokens N --first I --count N [--bundles N]
//   loop     --brokers B --topic T --bundle B --spread S --records N --tokens-per-record N
//   pace     --brokers B --topic T --bundle B --spread S --tokens N --first I --count N --rate R [--linger-ms M]
//   receive  --brokers B --topic T
//   measure  PROGRAM ARGUMENT …
//
// Publishing returns when the broker has acknowledged every record. Exit codes: 0, 1 (failed), 64 (usage).
#include "load.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchmark_layout.h"
#include "benchmark_program.h"

void load_set(rd_kafka_conf_t *configuration, const char *name, const char *value) {
    char reason[TEXT_BYTES];
    if (rd_kafka_conf_set(configuration, name, value, reason, sizeof reason) != RD_KAFKA_CONF_OK) {
        bench_fail("%s: %s", name, reason);
    }
}

rd_kafka_t *load_producer(rd_kafka_conf_t *configuration) {
    char reason[TEXT_BYTES];
    rd_kafka_t *kafka = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, reason, sizeof reason);
    if (kafka == NULL) bench_fail("no producer: %s", reason);
    return kafka;
}

static void delivered(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque) {
    (void)kafka;
    struct load_deliveries *deliveries = opaque;
    if (message->err) deliveries->failure = message->err;
    else deliveries->acknowledged++;
}

void load_count_deliveries(rd_kafka_conf_t *configuration, struct load_deliveries *deliveries) {
    rd_kafka_conf_set_dr_msg_cb(configuration, delivered);
    rd_kafka_conf_set_opaque(configuration, deliveries);
}

void load_flush(rd_kafka_t *kafka, const struct load_deliveries *deliveries, const char *topic, uint64_t count) {
    rd_kafka_flush(kafka, TIMEOUT_MS);
    if (deliveries->failure) bench_fail("%s: %s", topic, rd_kafka_err2str(deliveries->failure));
    if (deliveries->acknowledged != count) {
        bench_fail("%s: %lu of %lu records acknowledged", topic, deliveries->acknowledged, count);
    }
}

// MARK: register

// Cuts `list` at its commas, in place; returns the number of its texts.
static size_t split(char *list, const char **texts, size_t limit) {
    size_t count = 0;
    char *rest = NULL;
    for (char *text = strtok_r(list, ",", &rest); text != NULL; text = strtok_r(NULL, ",", &rest)) {
        if (count == limit || strlen(text) > BENCH_LOCALE_LIMIT_BYTES) bench_fail("--locales: too many, or too long");
        texts[count++] = text;
    }
    return count;
}

// Token i has the locale i modulo their number; with none it has none.
static void register_tokens(
    const char *redis, const char *environment, const char *bundle, uint64_t tokens, const char *locales) {
    enum { PIPELINE = 1000, MOST_LOCALES = 64 };
    char list[TEXT_BYTES];
    const char *texts[MOST_LOCALES];
    snprintf(list, sizeof list, "%s", locales);
    size_t locale_count = split(list, texts, MOST_LOCALES);
    char host[256], port[8];
    bench_host_port(redis, host, port);
    redisContext *context = redisConnect(host, atoi(port));
    if (context == NULL || context->err) bench_fail("redis %s: %s", redis, context ? context->errstr : "no memory");
    uint8_t key[BENCH_KEY_LIMIT_BYTES], token[BENCH_TOKEN_BYTES], field[BENCH_FIELD_BYTES];
    uint8_t state[BENCH_STATE_LIMIT_BYTES];
    redisReply *rule = redisCommand(context, "SET %s %s", BENCH_RULE_KEY, BENCH_RULE);
    if (rule == NULL || rule->type == REDIS_REPLY_ERROR) bench_fail("redis %s: %s", redis, context->errstr);
    freeReplyObject(rule);
    for (unsigned tag = 0; tag < BENCH_TAGS; tag++) {
        size_t key_bytes = bench_directory_key(environment, bundle, tag, key);
        redisReply *reply = redisCommand(context, "SET %b %d", key, key_bytes, BENCH_BUCKETS);
        if (reply == NULL || reply->type == REDIS_REPLY_ERROR) bench_fail("redis %s: %s", redis, context->errstr);
        freeReplyObject(reply);
    }
    size_t prefix = bench_state_key_prefix(environment, bundle, key);
    // A second back: a registration in the future would be odd.
    uint32_t registered_at = (uint32_t)time(NULL) - 1;
    for (uint64_t first = 0; first < tokens; first += PIPELINE) {
        uint64_t end = first + PIPELINE < tokens ? first + PIPELINE : tokens;
        for (uint64_t i = first; i < end; i++) {
            bench_token(i, token);
            size_t key_bytes = bench_state_key(key, prefix, token, field);
            size_t state_bytes = bench_state_with_locale(
                registered_at, locale_count > 0 ? texts[i % locale_count] : "", state);
            redisAppendCommand(context, "HSET %b %b %b", key, key_bytes, field, sizeof field, state, state_bytes);
        }
        for (uint64_t i = first; i < end; i++) {
            redisReply *reply;
            if (redisGetReply(context, (void **)&reply) != REDIS_OK) bench_fail("redis %s: %s", redis, context->errstr);
            if (reply->type == REDIS_REPLY_ERROR) bench_fail("redis %s: %s", redis, reply->str);
            freeReplyObject(reply);
        }
    }
    redisFree(context);
}

// MARK: publish

struct round {
    const char *bundle;
    uint64_t spread, tokens, first, count;
    // More than 1: notification i is of the bundle with i modulo this number behind a hyphen.
    uint64_t bundles;
    // 1: requests have ids; else 0.
    uint64_t request_ids;
};

static void publish(const char *brokers, const char *topic, struct round round) {
    struct load_deliveries deliveries = {0};
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    load_set(configuration, "bootstrap.servers", brokers);
    // The partitioner of the Kafka contract.
    load_set(configuration, "partitioner", "murmur2_random");
    // Batches of some hundred records: the embedded broker hands out one per partition and fetch, so that much smaller
    // ones would limit the rate, and much larger ones would not stay in the consumer's cache.
    load_set(configuration, "linger.ms", "20");
    load_set(configuration, "queue.buffering.max.messages", "1000000");
    load_count_deliveries(configuration, &deliveries);
    rd_kafka_t *kafka = load_producer(configuration);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(kafka, topic, NULL);
    if (handle == NULL) bench_fail("%s: %s", topic, rd_kafka_err2str(rd_kafka_last_error()));

    uint8_t record[BENCH_REQUEST_ID_FIELD_BYTES + BENCH_RECORD_LIMIT_BYTES], token[BENCH_TOKEN_BYTES];
    char key[TEXT_BYTES];
    for (uint64_t number = round.first; number < round.first + round.count; number++) {
        bench_token(number % round.tokens, token);
        size_t record_bytes = round.request_ids ? bench_request_id(number, record) : 0;
        record_bytes += bench_record(number, token, record + record_bytes);
        unsigned shard = bench_crc32(token, sizeof token) % (uint32_t)round.spread;
        int key_bytes = snprintf(key, sizeof key, "%s", round.bundle);
        if (round.bundles > 1) {
            key_bytes += snprintf(key + key_bytes, sizeof key - key_bytes, "-%lu", number % round.bundles);
        }
        if (round.spread > 1) key_bytes += snprintf(key + key_bytes, sizeof key - key_bytes, "#%u", shard);
        while (rd_kafka_produce(handle, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, record, record_bytes, key,
                                (size_t)key_bytes, NULL) != 0) {
            rd_kafka_resp_err_t code = rd_kafka_last_error();
            if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) bench_fail("%s: %s", topic, rd_kafka_err2str(code));
            rd_kafka_poll(kafka, 100);
        }
        if (number % 1024 == 0) rd_kafka_poll(kafka, 0);
    }
    load_flush(kafka, &deliveries, topic, round.count);
    rd_kafka_topic_destroy(handle);
    rd_kafka_destroy(kafka);
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    const char *brokers = NULL, *redis = NULL, *environment = NULL, *bundle = NULL;
    const char *topic = NULL, *spread = NULL, *tokens = NULL, *first = "0", *count = NULL, *request_ids = "0";
    const char *bundles = "1", *rate = NULL, *linger_ms = "0";
    const char *locales = "", *records = NULL, *tokens_per_record = NULL;
    // The verb takes the place of the program's name.
    argc--, argv++;
    if (strcmp(verb, "register") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"redis", &redis}, {"environment", &environment}, {"bundle", &bundle}, {"tokens", &tokens},
            {"locales", &locales}, {NULL, NULL}});
        register_tokens(redis, environment, bundle, bench_number("tokens", tokens), locales);
    } else if (strcmp(verb, "publish") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"brokers", &brokers}, {"topic", &topic}, {"bundle", &bundle}, {"spread", &spread}, {"tokens", &tokens},
            {"first", &first}, {"count", &count}, {"request-ids", &request_ids},
            {"bundles", &bundles}, {NULL, NULL}});
        publish(brokers, topic, (struct round){
            .bundle = bundle, .spread = bench_number("spread", spread), .tokens = bench_number("tokens", tokens),
            .first = bench_number("first", first), .count = bench_number("count", count),
            .request_ids = bench_number("request-ids", request_ids), .bundles = bench_number("bundles", bundles)});
    } else if (strcmp(verb, "loop") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"brokers", &brokers}, {"topic", &topic}, {"bundle", &bundle}, {"spread", &spread}, {"records", &records},
            {"tokens-per-record", &tokens_per_record}, {NULL, NULL}});
        load_loop((struct load_loop){
            .brokers = brokers, .topic = topic, .bundle = bundle, .spread = bench_number("spread", spread),
            .records = bench_number("records", records),
            .tokens_per_record = bench_number("tokens-per-record", tokens_per_record)});
    } else if (strcmp(verb, "pace") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"brokers", &brokers}, {"topic", &topic}, {"bundle", &bundle}, {"spread", &spread}, {"tokens", &tokens},
            {"first", &first}, {"count", &count}, {"rate", &rate}, {"linger-ms", &linger_ms}, {NULL, NULL}});
        load_pace((struct load_pace){
            .brokers = brokers, .topic = topic, .bundle = bundle, .linger_ms = linger_ms,
            .spread = bench_number("spread", spread), .tokens = bench_number("tokens", tokens),
            .first = bench_number("first", first), .count = bench_number("count", count),
            .rate = bench_number("rate", rate)});
    } else if (strcmp(verb, "receive") == 0) {
        bench_options(argc, argv, (struct bench_option[]){{"brokers", &brokers}, {"topic", &topic}, {NULL, NULL}});
        load_receive(brokers, topic);
    } else if (strcmp(verb, "measure") == 0 && argc > 1) {
        load_measure(argv + 1);
    } else {
        fprintf(stderr, "usage: belfry-bench-load register|publish|loop|pace|receive --option value … "
                        "| measure PROGRAM …\n");
        return 64;
    }
    return 0;
}
