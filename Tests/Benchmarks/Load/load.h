// The verbs of belfry-bench-load that have files of their own, and what its publishers share.
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdint.h>

enum { TIMEOUT_MS = 30000, TEXT_BYTES = 512 };

// Sets a property; ends the program with 1 if librdkafka refuses it.
void load_set(rd_kafka_conf_t *configuration, const char *name, const char *value);

// A producer, or the end of the program with 1.
rd_kafka_t *load_producer(rd_kafka_conf_t *configuration);

// Ends of records, counted by the delivery reports.
struct load_deliveries {
    uint64_t acknowledged;
    rd_kafka_resp_err_t failure;
};

// Lets `deliveries`, which outlive the producer, count its reports.
void load_count_deliveries(rd_kafka_conf_t *configuration, struct load_deliveries *deliveries);

// Waits for all reports; ends the program with 1 if a record failed, or not so many are acknowledged.
void load_flush(rd_kafka_t *kafka, const struct load_deliveries *deliveries, const char *topic, uint64_t count);

struct load_loop {
    const char *brokers, *topic, *bundle;
    uint64_t spread, records, tokens_per_record;
};

// Makes records, then times nothing but handing them over and their acknowledgements. Prints one line of JSON.
void load_loop(struct load_loop loop);

struct load_pace {
    const char *brokers, *topic, *bundle, *linger_ms;
    uint64_t spread, tokens, first, count, rate;
};

// Publishes records of one token each, with the time at which each is handed to the producer, evenly at `rate` a
// second, up to `count` or until SIGTERM. Prints one line of JSON when all are acknowledged: the seconds from the first
// to the last, their number, and how late they were handed over.
void load_pace(struct load_pace pace);

// Consumes stamped records from now on, without a group, and prints {"ready":true} when it will miss none. For every
// line `latency N MS` on standard input it prints one, when it has received N since its start or after so many
// milliseconds: their number, and the times from the stamps of those since the last such line. Ends with its input.
void load_receive(const char *brokers, const char *topic);

// Runs a program to its end, and prints one line of JSON: wall clock, CPU time of all its threads, largest resident
// set. Ends this program with 1 if that one fails.
void load_measure(char **command);
