// belfry-bench-fire: a provider that sends as fast as a gateway takes it.
//
//   --gateway HOST:PORT  --trust FILE  --identity FILE (certificate and key, PEM)
//   --tokens FILE (32 bytes each, end to end)  --connections K
//
// Notifications are numbered from 0. Number i is a command 2 frame with all five items for token i modulo the tokens in
// the file, with a payload of 110 bytes whose key `n` differs in each, to be kept for a day, of priority 10; its
// identifier is i + 1. Chunks of them go to the connections in turn, in whole TLS records that cut frames anywhere.
//
// Ready, it prints {"version":"…","cipher":"…"}. For every line on its standard input it prints one:
//
//   send N   → when the next N have been given to the kernel: {"sent":n}, of all of them
//   hold N   → when N more connections are open: {"held":n}
//   each     → when the next ones, one for each of the connections that are held, were written: {"sent":n}
//
// It ends when its standard input does.
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "benchmark_layout.h"
#include "benchmark_program.h"

// MARK: connections

static SSL_CTX *make_context(const char *trust, const char *identity) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_load_verify_file(context, trust) != 1
        || SSL_CTX_use_certificate_chain_file(context, identity) != 1
        || SSL_CTX_use_PrivateKey_file(context, identity, SSL_FILETYPE_PEM) != 1) {
        bench_fail("%s or %s cannot be read", trust, identity);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}

static SSL *connect_gateway(SSL_CTX *context, const char *address) {
    char host[256], port[8];
    bench_host_port(address, host, port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *info;
    int code = getaddrinfo(host, port, &hints, &info);
    if (code != 0) bench_fail("%s: %s", address, gai_strerror(code));
    int descriptor = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, 0), on = 1;
    if (descriptor < 0 || connect(descriptor, info->ai_addr, info->ai_addrlen) != 0) {
        bench_fail("%s: %s", address, strerror(errno));
    }
    freeaddrinfo(info);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, descriptor) != 1 || SSL_connect(ssl) != 1) {
        ERR_print_errors_fp(stderr);
        bench_fail("%s: no TLS", address);
    }
    return ssl;
}

// Thousands of connections take more descriptors than many systems grant unasked.
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// MARK: notifications

#define PAYLOAD_START \
    "{\"aps\":{\"alert\":\"Ring the bell: a text of the length that people send\",\"badge\":1},\"from\":\"bel\",\"n\":"
#define PAYLOAD_END "}"

enum {
    // Ten digits whatever the number, so that every payload has the same size.
    NUMBER_DIGITS = 10,
    FIRST_NUMBER = 1000000000,
    // command · length · identifier item · token item · payload item · expiration item · priority item
    IDENTIFIER_AT = 5 + 3,
    TOKEN_AT = IDENTIFIER_AT + 4 + 3,
    PAYLOAD_AT = TOKEN_AT + BENCH_TOKEN_BYTES + 3,
    NUMBER_AT = PAYLOAD_AT + sizeof PAYLOAD_START - 1,
    EXPIRATION_AT = PAYLOAD_AT + BENCH_PAYLOAD_BYTES + 3,
    FRAME_BYTES = EXPIRATION_AT + 4 + 4,
    // Just under 64 KiB: four full records, the last one shorter by less than a frame.
    CHUNK_FRAMES = 65536 / FRAME_BYTES,
    LIFE_SECONDS = 24 * 3600,
};
_Static_assert(
    sizeof PAYLOAD_START PAYLOAD_END - 1 + NUMBER_DIGITS == BENCH_PAYLOAD_BYTES, "the size that the scenario names");

static struct {
    uint8_t frame[BENCH_FRAME_LIMIT_BYTES];
    uint8_t *tokens;
    uint64_t token_count;
    // The next notification's number.
    uint64_t next;
} shot;

static void read_tokens(const char *name) {
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) bench_fail("%s: %s", name, strerror(errno));
    long bytes = ftell(file);
    if (bytes < BENCH_TOKEN_BYTES || bytes % BENCH_TOKEN_BYTES != 0) bench_fail("%s does not hold tokens", name);
    rewind(file);
    shot.tokens = malloc((size_t)bytes);
    if (shot.tokens == NULL || fread(shot.tokens, 1, (size_t)bytes, file) != (size_t)bytes) {
        bench_fail("%s cannot be read", name);
    }
    shot.token_count = (uint64_t)bytes / BENCH_TOKEN_BYTES;
    fclose(file);
}

static void put_u32(uint8_t *at, uint32_t value) {
    value = __builtin_bswap32(value);
    memcpy(at, &value, 4);
}

// The frame of which only identifier, token and number differ.
static void make_frame(void) {
    uint8_t token[BENCH_TOKEN_BYTES] = {0};
    struct bench_request request = {
        .token = token,
        .payload = (const uint8_t *)PAYLOAD_START "0000000000" PAYLOAD_END,
        .payload_bytes = BENCH_PAYLOAD_BYTES};
    if (bench_frame(&request, 0, shot.frame) != FRAME_BYTES) bench_fail("a frame has another size than was thought");
    put_u32(shot.frame + EXPIRATION_AT, (uint32_t)time(NULL) + LIFE_SECONDS);
}

static uint8_t *put_next(uint8_t *at) {
    memcpy(at, shot.frame, FRAME_BYTES);
    put_u32(at + IDENTIFIER_AT, (uint32_t)(shot.next + 1));
    memcpy(at + TOKEN_AT, shot.tokens + shot.next % shot.token_count * BENCH_TOKEN_BYTES, BENCH_TOKEN_BYTES);
    uint64_t number = FIRST_NUMBER + shot.next++;
    for (int digit = NUMBER_DIGITS - 1; digit >= 0; digit--, number /= 10) {
        at[NUMBER_AT + digit] = (uint8_t)('0' + number % 10);
    }
    return at + FRAME_BYTES;
}

static void fire(SSL *ssl, uint64_t count) {
    static uint8_t chunk[CHUNK_FRAMES * FRAME_BYTES];
    uint8_t *end = chunk;
    for (uint64_t i = 0; i < count; i++) end = put_next(end);
    if (SSL_write(ssl, chunk, (int)(end - chunk)) != end - chunk) {
        ERR_print_errors_fp(stderr);
        bench_fail("the gateway takes no more after about %" PRIu64 " notifications", shot.next);
    }
}

// MARK: control

int main(int argc, char **argv) {
    const char *gateway = NULL, *trust = NULL, *identity = NULL, *tokens = NULL, *connections = "4";
    bench_options(argc, argv, (struct bench_option[]){
        {"gateway", &gateway}, {"trust", &trust}, {"identity", &identity}, {"tokens", &tokens},
        {"connections", &connections}, {NULL, NULL}});
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    read_tokens(tokens);
    make_frame();
    SSL_CTX *context = make_context(trust, identity);
    uint64_t count = bench_number("connections", connections), turn = 0, held = 0;
    SSL **open = calloc(count, sizeof *open), **holding = NULL;
    if (open == NULL || count == 0) bench_fail("--connections: at least 1 is needed");
    for (uint64_t i = 0; i < count; i++) open[i] = connect_gateway(context, gateway);
    printf("{\"version\":\"%s\",\"cipher\":\"%s\"}\n", SSL_get_version(open[0]), SSL_get_cipher(open[0]));
    fflush(stdout);

    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t number;
        if (sscanf(line, "send %" SCNu64, &number) == 1) {
            for (uint64_t left = number; left > 0;) {
                uint64_t step = left < CHUNK_FRAMES ? left : CHUNK_FRAMES;
                fire(open[turn++ % count], step);
                left -= step;
            }
            printf("{\"sent\":%" PRIu64 "}\n", shot.next);
        } else if (sscanf(line, "hold %" SCNu64, &number) == 1) {
            holding = realloc(holding, (held + number) * sizeof *holding);
            if (holding == NULL) bench_fail("out of memory");
            for (uint64_t end = held + number; held < end; held++) holding[held] = connect_gateway(context, gateway);
            printf("{\"held\":%" PRIu64 "}\n", held);
        } else if (strcmp(line, "each\n") == 0) {
            for (uint64_t i = 0; i < held; i++) fire(holding[i], 1);
            printf("{\"sent\":%" PRIu64 "}\n", shot.next);
        } else {
            bench_fail("not a command: %s", line);
        }
        fflush(stdout);
    }
    return 0;
}
