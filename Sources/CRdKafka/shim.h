#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <sys/eventfd.h>

// Swift does not import variadic functions, and `rd_kafka_produceva` wants an array of unions built per message. This
// is the one form of producing the wrapper needs: by topic handle (no lookup by name), copying, with headers. On
// success librdkafka owns `headers`; on failure the caller still does.
static inline rd_kafka_resp_err_t belfry_rd_kafka_produce(
    rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition, const void *key, size_t key_bytes,
    const void *value, size_t value_bytes, rd_kafka_headers_t *headers, void *opaque) {
    if (headers) {
        return rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
                                 RD_KAFKA_V_KEY(key, key_bytes), RD_KAFKA_V_VALUE((void *)value, value_bytes),
                                 RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(opaque),
                                 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    }
    // The older call is cheaper: it parses no argument list.
    if (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, (void *)value, value_bytes, key, key_bytes,
                         opaque) == 0) {
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    return rd_kafka_last_error();
}

// The flags are enumerators of a type of their own in glibc, which Swift does not combine; and the descriptor must be
// non-blocking, because librdkafka's threads write to it.
static inline int belfry_eventfd(void) {
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}
