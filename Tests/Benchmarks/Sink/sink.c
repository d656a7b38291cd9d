// belfry-bench-sink: a gateway that takes everything and answers nothing.
//
//   --identity FILE (certificate and key, PEM)  --clients FILE (CA of the clients)  --listen HOST:PORT (port 0: any)
//   --read-bytes N (what is asked of a socket at a time; default 0: OpenSSL's way, a record in two reads)
//   --stamps 1 (payloads end with the time of their publisher; default 0)
//
// A TLS server that requires a client certificate, one thread a connection. It walks the lengths of command 2 frames to
// count notifications, nothing more. With stamps it also reads each frame, counts the time since its stamp, and answers
// a notification without a token, which it does not count, with status 2. Ready, it prints one JSON line with its port.
// For every line on its standard input it prints one:
//
//   wait N MS   → when N notifications have arrived since the start, or after MS milliseconds:
//   stats       → at once:
//                 {"notifications":n,"bytes":n,"connections":n,"last_byte_ns":n}
//   latency     → what has been counted since the last such line, which then begins anew:
//                 {"first_ns":n,"count":n,"p50_us":x,"p99_us":x,"p999_us":x,"largest_us":x}
//
// `last_byte_ns` is CLOCK_MONOTONIC at the end of the last read, `first_ns` that of the first one with a stamp. It ends
// when its standard input does.
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "benchmark_histogram.h"
#include "benchmark_layout.h"
#include "benchmark_program.h"

// Of the whole process; every field is guarded by `lock`, `arrived` is signalled when `notifications` grows.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    uint64_t notifications, bytes, connections, last_byte_ns, first_ns;
    struct bench_histogram latency;
} totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Payloads end with stamps.
static bool are_stamped;

// MARK: frames

enum { HEADER_BYTES = 5, COMMAND = 2, BUFFER_BYTES = 16384 };

// The place of a connection within its current frame.
struct walk {
    uint8_t header[HEADER_BYTES];
    size_t header_bytes;
    uint64_t body_bytes_left;
    // The current frame's items as far as they have come, with stamps.
    uint8_t body[BENCH_FRAME_LIMIT_BYTES];
    size_t body_bytes;
    // Of the last bytes.
    uint64_t stamps[BUFFER_BYTES / HEADER_BYTES];
    size_t stamp_count;
    // The client sent a notification without a token, and nothing is read behind that.
    bool has_sentinel;
    uint32_t sentinel;
};

// Reads the items of a frame. Returns true if it is a notification.
static bool read_frame(struct walk *walk) {
    struct bench_notification notification;
    uint64_t *stamp = &walk->stamps[walk->stamp_count];
    if (!bench_read_items(walk->body, walk->body_bytes, &notification)) bench_fail("a frame is not what it says");
    if (notification.token_bytes == 0) {
        walk->has_sentinel = true;
        walk->sentinel = notification.identifier;
        return false;
    }
    if (!bench_read_stamp(notification.payload, notification.payload_bytes, stamp)) bench_fail("no stamp");
    walk->stamp_count++;
    return true;
}

static void keep_body(struct walk *walk, const uint8_t *bytes, uint64_t count) {
    if (count > sizeof walk->body - walk->body_bytes) bench_fail("a frame is too long to be read");
    memcpy(walk->body + walk->body_bytes, bytes, count);
    walk->body_bytes += count;
}

// Returns how many notifications end within `bytes`; -1 if something is no command 2 frame.
static int64_t walk_frames(struct walk *walk, const uint8_t *bytes, size_t count) {
    int64_t ended = 0;
    walk->stamp_count = 0;
    while (count > 0 && !walk->has_sentinel) {
        if (walk->header_bytes < HEADER_BYTES) {
            walk->header[walk->header_bytes++] = *bytes++;
            count--;
            if (walk->header_bytes < HEADER_BYTES) continue;
            if (walk->header[0] != COMMAND) return -1;
            walk->body_bytes_left = (uint64_t)walk->header[1] << 24 | (uint64_t)walk->header[2] << 16
                | (uint64_t)walk->header[3] << 8 | walk->header[4];
            walk->body_bytes = 0;
        }
        uint64_t step = walk->body_bytes_left < count ? walk->body_bytes_left : count;
        if (are_stamped) keep_body(walk, bytes, step);
        bytes += step;
        count -= step;
        walk->body_bytes_left -= step;
        if (walk->body_bytes_left == 0) {
            walk->header_bytes = 0;
            if (!are_stamped || read_frame(walk)) ended++;
        }
    }
    return ended;
}

// MARK: connections

static SSL_CTX *context;

// Counts what a read brought; under the lock.
static void count_read(const struct walk *walk, uint64_t frames, uint64_t bytes, uint64_t now) {
    totals.notifications += frames;
    totals.bytes += bytes;
    totals.last_byte_ns = now;
    if (walk->stamp_count > 0 && totals.latency.count == 0) totals.first_ns = now;
    for (size_t i = 0; i < walk->stamp_count; i++) {
        bench_histogram_add(&totals.latency, now > walk->stamps[i] ? now - walk->stamps[i] : 0);
    }
}

// The error response for a notification without a token; a gateway closes behind it.
static void answer_sentinel(SSL *ssl, uint32_t identifier) {
    enum { ERROR_RESPONSE = 8, MISSING_TOKEN = 2 };
    uint8_t answer[6] = {ERROR_RESPONSE, MISSING_TOKEN};
    identifier = __builtin_bswap32(identifier);
    memcpy(answer + 2, &identifier, 4);
    // A client that has gone needs no answer.
    if (SSL_write(ssl, answer, sizeof answer) > 0) SSL_shutdown(ssl);
}

static void *serve(void *argument) {
    int descriptor = (int)(intptr_t)argument;
    struct walk walk = {0};
    uint8_t buffer[BUFFER_BYTES];
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, descriptor) != 1) bench_fail("out of memory");
    if (SSL_accept(ssl) != 1) {
        fprintf(stderr, "belfry-bench-sink: a client was refused: ");
        ERR_print_errors_fp(stderr);
    } else {
        int count;
        while (!walk.has_sentinel && (count = SSL_read(ssl, buffer, sizeof buffer)) > 0) {
            uint64_t now = bench_now_ns();
            int64_t frames = walk_frames(&walk, buffer, (size_t)count);
            if (frames < 0) bench_fail("a client sent something that is no command 2 frame");
            pthread_mutex_lock(&totals.lock);
            count_read(&walk, (uint64_t)frames, (uint64_t)count, now);
            pthread_cond_signal(&totals.arrived);
            pthread_mutex_unlock(&totals.lock);
        }
        if (walk.has_sentinel) answer_sentinel(ssl, walk.sentinel);
    }
    SSL_free(ssl);
    close(descriptor);
    return NULL;
}

static void *accept_all(void *argument) {
    int listener = (int)(intptr_t)argument;
    for (;;) {
        int descriptor = accept(listener, NULL, NULL);
        if (descriptor < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            bench_fail("accept: %s", strerror(errno));
        }
        pthread_mutex_lock(&totals.lock);
        totals.connections++;
        pthread_mutex_unlock(&totals.lock);
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)descriptor) != 0) bench_fail("no thread");
        pthread_detach(thread);
    }
}

// MARK: set-up

static void make_context(const char *identity, const char *clients, size_t read_bytes) {
    context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_use_certificate_chain_file(context, identity) != 1
        || SSL_CTX_use_PrivateKey_file(context, identity, SSL_FILETYPE_PEM) != 1) {
        bench_fail("%s cannot be read as a certificate with its key", identity);
    }
    if (SSL_CTX_load_verify_file(context, clients) != 1) {
        bench_fail("%s cannot be read as a certificate", clients);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    // A ticket would be the only thing this gateway ever says.
    SSL_CTX_set_num_tickets(context, 0);
    if (read_bytes > 0) {
        SSL_CTX_set_read_ahead(context, 1);
        SSL_CTX_set_default_read_buffer_len(context, read_bytes);
    }
    // Some clients' extensions are critical and unknown to OpenSSL; the chain is what matters here.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_IGNORE_CRITICAL);
}

// Returns the listening socket and stores its port.
static int listen_on(const char *address, uint16_t *port) {
    char host[256], service[8];
    bench_host_port(address, host, service);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *info;
    int code = getaddrinfo(host, service, &hints, &info);
    if (code != 0) bench_fail("%s: %s", address, gai_strerror(code));
    int listener = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, info->ai_addr, info->ai_addrlen) != 0 || listen(listener, 128) != 0) {
        bench_fail("%s: %s", address, strerror(errno));
    }
    freeaddrinfo(info);
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;
    getsockname(listener, (struct sockaddr *)&bound, &bytes);
    getnameinfo((struct sockaddr *)&bound, bytes, NULL, 0, service, sizeof service, NI_NUMERICSERV);
    *port = (uint16_t)atoi(service);
    return listener;
}

// MARK: control

// Prints the totals once `notifications` have arrived, or `milliseconds` have passed.
static void report(uint64_t notifications, uint64_t milliseconds) {
    uint64_t deadline = bench_now_ns() + milliseconds * 1000000u;
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u), .tv_nsec = (long)(deadline % 1000000000u)};
    pthread_mutex_lock(&totals.lock);
    while (totals.notifications < notifications) {
        if (pthread_cond_timedwait(&totals.arrived, &totals.lock, &until) == ETIMEDOUT) break;
    }
    printf("{\"notifications\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"connections\":%" PRIu64 ",\"last_byte_ns\":%" PRIu64
           "}\n",
           totals.notifications, totals.bytes, totals.connections, totals.last_byte_ns);
    pthread_mutex_unlock(&totals.lock);
    fflush(stdout);
}

static void report_latency(void) {
    pthread_mutex_lock(&totals.lock);
    printf("{\"first_ns\":%" PRIu64 ",", totals.first_ns);
    bench_histogram_print(&totals.latency, stdout);
    printf("}\n");
    totals.first_ns = 0;
    memset(&totals.latency, 0, sizeof totals.latency);
    pthread_mutex_unlock(&totals.lock);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *identity = NULL, *clients = NULL, *address = "127.0.0.1:0", *read_bytes = "0", *stamps = "0";
    bench_options(argc, argv, (struct bench_option[]){
        {"identity", &identity}, {"clients", &clients}, {"listen", &address},
        {"read-bytes", &read_bytes}, {"stamps", &stamps}, {NULL, NULL}});
    are_stamped = bench_number("stamps", stamps) != 0;
    signal(SIGPIPE, SIG_IGN);
    // A connection takes a descriptor, and scenarios with many bundles open thousands.
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&totals.arrived, &attributes);
    make_context(identity, clients, bench_number("read-bytes", read_bytes));
    uint16_t port;
    int listener = listen_on(address, &port);
    pthread_t thread;
    if (pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener) != 0) bench_fail("no thread");
    printf("{\"gateway\":%u}\n", port);
    fflush(stdout);

    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t notifications, milliseconds;
        if (sscanf(line, "wait %" SCNu64 " %" SCNu64, &notifications, &milliseconds) == 2) {
            report(notifications, milliseconds);
        } else if (strcmp(line, "stats\n") == 0) {
            report(0, 0);
        } else if (strcmp(line, "latency\n") == 0) {
            report_latency();
        } else {
            bench_fail("not a command: %s", line);
        }
    }
    return 0;
}
