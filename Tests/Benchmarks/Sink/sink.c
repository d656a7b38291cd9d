// belfry-bench-sink: a gateway that takes everything and answers nothing.
//
//   --identity FILE (certificate and key, PEM)  --clients FILE (CA of the clients)  --listen HOST:PORT (port 0: any)
//   --read-bytes N (what is asked of a socket at a time; default 0: OpenSSL's way, a record in two reads)
//
// A TLS server that requires a client certificate, one thread a connection. It walks the lengths of command 2 frames to
// count notifications, nothing more. Ready, it prints one JSON line with its port. For every line on its standard input
// it prints one:
//
//   wait N MS   → when N notifications have arrived since the start, or after MS milliseconds:
//   stats       → at once:
//                 {"notifications":n,"bytes":n,"connections":n,"last_byte_ns":n}
//
// `last_byte_ns` is CLOCK_MONOTONIC at the end of the last read. It ends when its standard input does.
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

#include "benchmark_program.h"

// Of the whole process; every field is guarded by `lock`, `arrived` is signalled when `notifications` grows.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    uint64_t notifications, bytes, connections, last_byte_ns;
} totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

// MARK: frames

enum { HEADER_BYTES = 5, COMMAND = 2 };

// The place of a connection within its current frame.
struct walk {
    uint8_t header[HEADER_BYTES];
    size_t header_bytes;
    uint64_t body_bytes_left;
};

// Returns how many frames end within `bytes`; -1 if something is no command 2 frame.
static int64_t walk_frames(struct walk *walk, const uint8_t *bytes, size_t count) {
    int64_t ended = 0;
    while (count > 0) {
        if (walk->header_bytes < HEADER_BYTES) {
            walk->header[walk->header_bytes++] = *bytes++;
            count--;
            if (walk->header_bytes < HEADER_BYTES) continue;
            if (walk->header[0] != COMMAND) return -1;
            walk->body_bytes_left = (uint64_t)walk->header[1] << 24 | (uint64_t)walk->header[2] << 16
                | (uint64_t)walk->header[3] << 8 | walk->header[4];
        }
        uint64_t step = walk->body_bytes_left < count ? walk->body_bytes_left : count;
        bytes += step;
        count -= step;
        walk->body_bytes_left -= step;
        if (walk->body_bytes_left == 0) {
            walk->header_bytes = 0;
            ended++;
        }
    }
    return ended;
}

// MARK: connections

static SSL_CTX *context;

static void *serve(void *argument) {
    enum { BUFFER_BYTES = 16384 };
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
        while ((count = SSL_read(ssl, buffer, sizeof buffer)) > 0) {
            uint64_t now = bench_now_ns();
            int64_t frames = walk_frames(&walk, buffer, (size_t)count);
            if (frames < 0) bench_fail("a client sent something that is no command 2 frame");
            pthread_mutex_lock(&totals.lock);
            totals.notifications += (uint64_t)frames;
            totals.bytes += (uint64_t)count;
            totals.last_byte_ns = now;
            pthread_cond_signal(&totals.arrived);
            pthread_mutex_unlock(&totals.lock);
        }
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

int main(int argc, char **argv) {
    const char *identity = NULL, *clients = NULL, *address = "127.0.0.1:0", *read_bytes = "0";
    bench_options(argc, argv, (struct bench_option[]){
        {"identity", &identity}, {"clients", &clients}, {"listen", &address},
        {"read-bytes", &read_bytes}, {NULL, NULL}});
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
        } else {
            bench_fail("not a command: %s", line);
        }
    }
    return 0;
}
