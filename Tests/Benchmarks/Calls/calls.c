// belfry-bench-calls: the calls by which a registrar changes token states, recorded, and made again in a bare loop.
//
//   record --redis HOST:PORT --file F --count N
//   repeat --redis HOST:PORT --file F --window N
//
// Recording watches all that the server is told (MONITOR) until it was called N times; {"ready":true} says that it
// watches, {"calls":N} that the file is written. The file holds for each call the lengths of its words (4 bytes each)
// and the words. Repeating makes the same calls with hiredis: at most four times the window is under way, and a window
// is sent and read at a time. It prints {"calls":n,"seconds":x,"cpu_us":x}. Exit codes: 0, 1 (failed), 64 (usage).
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark_program.h"

// EVALSHA, the script's digest, two keys, five arguments: a registration.
enum { WORDS = 10, WINDOWS = 4 };

struct call {
    const char *words[WORDS];
    size_t bytes[WORDS];
};

static redisContext *connect_redis(const char *address) {
    char host[256], port[8];
    bench_host_port(address, host, port);
    redisContext *redis = redisConnect(host, atoi(port));
    if (redis == NULL || redis->err) bench_fail("redis %s: %s", address, redis ? redis->errstr : "no memory");
    return redis;
}

static redisReply *reply_of(redisContext *redis) {
    redisReply *reply;
    if (redisGetReply(redis, (void **)&reply) != REDIS_OK) bench_fail("redis: %s", redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR) bench_fail("redis: %s", reply->str);
    return reply;
}

// MARK: record

static int hex(char digit) { return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10; }

// Undoes what MONITOR does to a quoted word, in place. Returns what is behind the word; NULL: there is none.
static char *read_word(char *at, const char **word, size_t *bytes) {
    if (*at != '"') return NULL;
    char *out = ++at;
    *word = at;
    for (; *at != '"'; at++) {
        if (*at == '\0') return NULL;
        char byte = *at;
        if (byte == '\\') {
            byte = *++at;
            if (byte == 'x' && at[1] != '\0' && at[2] != '\0') {
                byte = (char)(hex(at[1]) << 4 | hex(at[2]));
                at += 2;
            } else {
                byte = byte == 'n' ? '\n' : byte == 'r' ? '\r' : byte == 't' ? '\t' : byte == 'a' ? '\a'
                    : byte == 'b' ? '\b' : byte;
            }
        }
        *out++ = byte;
    }
    *bytes = (size_t)(out - *word);
    return at[1] == ' ' ? at + 2 : at + 1;
}

// Reads `1700000000.000001 [0 127.0.0.1:50000] "EVALSHA" …`; false if it is another command.
static bool read_call(char *line, struct call *call) {
    char *at = strstr(line, "] \"");
    if (at == NULL) return false;
    at += 2;
    for (int i = 0; i < WORDS; i++) {
        if ((at = read_word(at, &call->words[i], &call->bytes[i])) == NULL) return false;
        if (i == 0 && (call->bytes[0] != 7 || memcmp(call->words[0], "EVALSHA", 7) != 0)) return false;
    }
    return *at == '\0';
}

static void record(const char *address, const char *path, uint64_t count) {
    redisContext *redis = connect_redis(address);
    FILE *file = fopen(path, "wb");
    if (file == NULL) bench_fail("%s cannot be written", path);
    freeReplyObject(redisCommand(redis, "MONITOR"));
    printf("{\"ready\":true}\n");
    fflush(stdout);
    for (uint64_t calls = 0; calls < count;) {
        struct call call;
        redisReply *line = reply_of(redis);
        if (read_call(line->str, &call)) {
            for (int i = 0; i < WORDS; i++) fwrite(&(uint32_t){(uint32_t)call.bytes[i]}, 4, 1, file);
            for (int i = 0; i < WORDS; i++) fwrite(call.words[i], 1, call.bytes[i], file);
            calls++;
        }
        freeReplyObject(line);
    }
    if (fclose(file) != 0) bench_fail("%s cannot be written", path);
    printf("{\"calls\":%lu}\n", count);
    redisFree(redis);
}

// MARK: repeat

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) bench_fail("%s cannot be read", path);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) bench_fail("%s cannot be read", path);
    fclose(file);
    return bytes;
}

static struct call *read_calls(char *bytes, size_t size, uint64_t *count) {
    uint64_t capacity = size / (4 * WORDS) + 1;
    struct call *calls = calloc(capacity, sizeof *calls);
    if (calls == NULL) bench_fail("out of memory");
    for (char *at = bytes, *end = bytes + size; at < end; (*count)++) {
        char *word = at + 4 * WORDS;
        for (int i = 0; i < WORDS; i++, at += 4) {
            uint32_t length;
            memcpy(&length, at, 4);
            calls[*count].words[i] = word;
            calls[*count].bytes[i] = length;
            word += length;
        }
        if (word > end) bench_fail("the file of calls ends in one");
        at = word;
    }
    return calls;
}

static void append(redisContext *redis, struct call *call) {
    if (redisAppendCommandArgv(redis, WORDS, call->words, call->bytes) != REDIS_OK) {
        bench_fail("redis: %s", redis->errstr);
    }
}

static void repeat(const char *address, const char *path, uint64_t window) {
    size_t size;
    uint64_t count = 0, sent = 0, received = 0;
    char *bytes = read_file(path, &size);
    struct call *calls = read_calls(bytes, size, &count);
    redisContext *redis = connect_redis(address);
    uint64_t start = bench_now_ns();
    double cpu = bench_cpu_us();
    while (sent < WINDOWS * window && sent < count) append(redis, &calls[sent++]);
    while (received < sent) {
        for (uint64_t i = 0; i < window && received < sent; i++, received++) {
            redisReply *reply = reply_of(redis);
            // A number in place of facts: the bucket is another one by now, so that nothing was changed.
            if (reply->type != REDIS_REPLY_ARRAY) bench_fail("redis: a call changed nothing");
            freeReplyObject(reply);
        }
        for (uint64_t i = 0; i < window && sent < count; i++) append(redis, &calls[sent++]);
    }
    printf("{\"calls\":%lu,\"seconds\":%.6f,\"cpu_us\":%.4f}\n", received, (double)(bench_now_ns() - start) / 1e9,
           (bench_cpu_us() - cpu) / (double)(received ? received : 1));
    redisFree(redis);
    free(calls);
    free(bytes);
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    const char *redis = NULL, *path = NULL, *count = NULL, *window = "512";
    // The verb takes the place of the program's name.
    argc--, argv++;
    if (strcmp(verb, "record") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"redis", &redis}, {"file", &path}, {"count", &count}, {NULL, NULL}});
        record(redis, path, bench_number("count", count));
    } else if (strcmp(verb, "repeat") == 0) {
        bench_options(argc, argv, (struct bench_option[]){
            {"redis", &redis}, {"file", &path}, {"window", &window}, {NULL, NULL}});
        repeat(redis, path, bench_number("window", window));
    } else {
        fprintf(stderr, "usage: belfry-bench-calls record|repeat --option value …\n");
        return 64;
    }
    return 0;
}
