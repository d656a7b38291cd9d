// belfry-bench-lookups: raw pipelined HGETs with hiredis, as many as a file names.
//
//   --redis HOST:PORT --file F --window N
//
// The file holds, one after the other: length of the key (2 bytes, little-endian), key, field (35 bytes). At most four
// times N commands are under way; N are sent and N replies read at a time. Prints one JSON line. Exit codes: 0, 1
// (failed), 64 (usage).
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark_layout.h"
#include "benchmark_program.h"

struct input {
    const unsigned char *at, *end;
};

static int append(redisContext *redis, struct input *input) {
    if (input->at == input->end) return 0;
    size_t key_bytes = input->at[0] | (size_t)input->at[1] << 8;
    const char *words[] = {"HGET", (const char *)input->at + 2, (const char *)input->at + 2 + key_bytes};
    size_t bytes[] = {4, key_bytes, BENCH_FIELD_BYTES};
    if (redisAppendCommandArgv(redis, 3, words, bytes) != REDIS_OK) bench_fail("redis: %s", redis->errstr);
    input->at += 2 + key_bytes + BENCH_FIELD_BYTES;
    return 1;
}

int main(int argc, char **argv) {
    const char *address = NULL, *path = NULL, *window_text = "512";
    bench_options(argc, argv, (struct bench_option[]){
        {"redis", &address}, {"file", &path}, {"window", &window_text}, {NULL, NULL}});
    uint64_t window = bench_number("window", window_text);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) bench_fail("%s cannot be read", path);
    size_t size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(size);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) bench_fail("%s cannot be read", path);
    char host[256], port[8];
    bench_host_port(address, host, port);
    redisContext *redis = redisConnect(host, atoi(port));
    if (redis == NULL || redis->err) bench_fail("redis %s: %s", address, redis ? redis->errstr : "no memory");
    struct input input = {bytes, bytes + size};
    uint64_t sent = 0, received = 0, found = 0;
    uint64_t start = bench_now_ns();
    double cpu = bench_cpu_us();
    for (uint64_t i = 0; i < 4 * window && append(redis, &input); i++) sent++;
    while (received < sent) {
        for (uint64_t i = 0; i < window && received < sent; i++) {
            redisReply *reply;
            if (redisGetReply(redis, (void **)&reply) != REDIS_OK) bench_fail("redis: %s", redis->errstr);
            if (reply->type == REDIS_REPLY_ERROR) bench_fail("redis: %s", reply->str);
            found += reply->type == REDIS_REPLY_STRING;
            received++;
            freeReplyObject(reply);
        }
        for (uint64_t i = 0; i < window && append(redis, &input); i++) sent++;
    }
    double seconds = (double)(bench_now_ns() - start) / 1e9;
    printf("{\"lookups\":%lu,\"found\":%lu,\"seconds\":%.6f,\"cpu_us\":%.4f}\n", received, found, seconds,
           (bench_cpu_us() - cpu) / (double)(received ? received : 1));
    redisFree(redis);
    free(bytes);
    fclose(file);
    return 0;
}
