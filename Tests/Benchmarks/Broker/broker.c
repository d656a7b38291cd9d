// belfry-bench-broker: stands before the embedded broker and keeps the records of one Kafka topic itself.
//
//   --upstream HOST:PORT (the embedded broker)  --topic T  --partitions N (that it has there)
//
// librdkafka's mock cluster lets a fetch that finds nothing wait for its whole time, hands out one batch per partition
// and fetch, and walks over all batches of a partition to find it: a latency measured through it is its own. Here a
// fetch is answered as soon as there are records, as by Kafka. Everything else (groups, commits, other topics) goes
// through to the embedded broker; in its answers its port is replaced by this one's. One thread. Ready, it prints one
// JSON line with its address, and ends with its standard input.
#define _GNU_SOURCE
#include "broker.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "benchmark_program.h"

enum { READ_BYTES = 1 << 18, LENGTH_BYTES = 4, MOST_FRAME_BYTES = 64 << 20 };

// One end of a client's way: the client, or the embedded broker for it.
struct side {
    struct connection *connection;
    int descriptor;
    bool waits_for_room;
    struct buffer in, out;
};

struct connection {
    struct side client, upstream;
    struct connection *next, *previous;
    // A fetch that waits for records, and until when; empty: none does.
    struct buffer fetch;
    uint64_t fetch_due_ns;
    bool is_closed;
};

static int poller, listener;
static struct sockaddr_in upstream_address;
static uint16_t own_port, upstream_port;
static struct connection *connections;
static bool has_grown;

// MARK: sockets

static void watch(struct side *side, int operation) {
    uint32_t events = side->waits_for_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
    epoll_ctl(poller, operation, side->descriptor, &(struct epoll_event){.events = events, .data.ptr = side});
}

static void send_out(struct side *side) {
    struct buffer *out = &side->out;
    while (out->start < out->end) {
        ssize_t count = send(side->descriptor, out->data + out->start, out->end - out->start, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            if (count < 0 && errno != EAGAIN) side->connection->is_closed = true;
            break;
        }
        out->start += (size_t)count;
    }
    bool waits = out->start < out->end && !side->connection->is_closed;
    if (waits == side->waits_for_room) return;
    side->waits_for_room = waits;
    watch(side, EPOLL_CTL_MOD);
}

static void take_socket(struct side *side, struct connection *connection, int descriptor) {
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    side->connection = connection;
    side->descriptor = descriptor;
    watch(side, EPOLL_CTL_ADD);
}

static void accept_client(void) {
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) return;
    int upstream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(upstream, (struct sockaddr *)&upstream_address, sizeof upstream_address) != 0) {
        bench_fail("the embedded broker: %s", strerror(errno));
    }
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) bench_fail("out of memory");
    take_socket(&connection->client, connection, client);
    take_socket(&connection->upstream, connection, upstream);
    connection->next = connections;
    if (connections != NULL) connections->previous = connection;
    connections = connection;
}

static void end(struct connection *connection) {
    if (connection->next != NULL) connection->next->previous = connection->previous;
    if (connection->previous != NULL) connection->previous->next = connection->next;
    else connections = connection->next;
    close(connection->client.descriptor);
    close(connection->upstream.descriptor);
    struct buffer *buffers[] = {&connection->client.in, &connection->client.out, &connection->upstream.in,
                                &connection->upstream.out, &connection->fetch};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) free(buffers[i]->data);
    free(connection);
}

// MARK: frames

static void serve_fetch(struct connection *connection, struct request request, const uint8_t *frame, size_t count) {
    int32_t wait_ms;
    if (request_fetch(request, false, &connection->client.out, &wait_ms)) return;
    if (connection->fetch.start < connection->fetch.end) bench_fail("two fetches wait on one connection");
    buffer_put(&connection->fetch, frame, count);
    connection->fetch_due_ns = bench_now_ns() + (uint64_t)wait_ms * 1000000u;
}

static void take_request(struct connection *connection, const uint8_t *frame, size_t count) {
    struct request request = request_parse(frame + LENGTH_BYTES, count - LENGTH_BYTES);
    if (!request_is_ours(request)) return buffer_put(&connection->upstream.out, frame, count);
    switch (request.api) {
    case API_PRODUCE: has_grown |= request_produce(request, &connection->client.out); break;
    case API_FETCH: serve_fetch(connection, request, frame, count); break;
    default: request_list_offsets(request, &connection->client.out);
    }
}

// The answers of the embedded broker name its port behind its address.
static void take_answer(struct connection *connection, uint8_t *frame, size_t count) {
    uint8_t pattern[13] = "127.0.0.1";
    uint32_t port = htobe32(upstream_port), own = htobe32(own_port);
    memcpy(pattern + 9, &port, sizeof port);
    uint8_t *at = frame, *end = frame + count;
    while ((at = memmem(at, (size_t)(end - at), pattern, sizeof pattern)) != NULL) memcpy(at + 9, &own, sizeof own);
    buffer_put(&connection->client.out, frame, count);
}

static void receive(struct side *side) {
    struct buffer *in = &side->in;
    struct connection *connection = side->connection;
    ssize_t received = recv(side->descriptor, buffer_room(in, READ_BYTES), READ_BYTES, 0);
    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) connection->is_closed = true;
    if (received <= 0) return;
    in->end += (size_t)received;
    while (in->end - in->start >= LENGTH_BYTES) {
        struct reader reader = {in->data + in->start, in->data + in->end, false};
        int32_t length = read_i32(&reader);
        if (length < 0 || length > MOST_FRAME_BYTES) bench_fail("a frame of %d bytes", length);
        size_t count = LENGTH_BYTES + (size_t)length;
        if (in->end - in->start < count) break;
        uint8_t *frame = in->data + in->start;
        if (side == &connection->client) take_request(connection, frame, count);
        else take_answer(connection, frame, count);
        in->start += count;
    }
}

// Answers fetches that find records now, or have waited for long enough. Returns milliseconds until the next is due.
static int serve_waiting(void) {
    uint64_t now = bench_now_ns(), next = now + 1000000000u;
    for (struct connection *connection = connections; connection != NULL; connection = connection->next) {
        struct buffer *fetch = &connection->fetch;
        if (fetch->start == fetch->end || connection->is_closed) continue;
        bool is_due = connection->fetch_due_ns <= now;
        if (is_due || has_grown) {
            int32_t wait_ms;
            struct request request = request_parse(
                fetch->data + fetch->start + LENGTH_BYTES, fetch->end - fetch->start - LENGTH_BYTES);
            if (request_fetch(request, is_due, &connection->client.out, &wait_ms)) {
                fetch->start = fetch->end = 0;
                send_out(&connection->client);
                continue;
            }
        }
        if (connection->fetch_due_ns < next) next = connection->fetch_due_ns;
    }
    has_grown = false;
    return (int)((next - now) / 1000000u) + 1;
}

// MARK: set-up

static void find_upstream(const char *text) {
    char host[256], port[8];
    bench_host_port(text, host, port);
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *info;
    if (getaddrinfo(host, port, &hints, &info) != 0) bench_fail("%s: no such host", text);
    memcpy(&upstream_address, info->ai_addr, sizeof upstream_address);
    freeaddrinfo(info);
    upstream_port = (uint16_t)atoi(port);
}

static void listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, bytes) != 0 || listen(listener, 128) != 0) {
        bench_fail("cannot listen: %s", strerror(errno));
    }
    getsockname(listener, (struct sockaddr *)&address, &bytes);
    own_port = ntohs(address.sin_port);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = &listener});
}

int main(int argc, char **argv) {
    const char *upstream = NULL, *topic = NULL, *partitions = NULL;
    bench_options(argc, argv, (struct bench_option[]){
        {"upstream", &upstream}, {"topic", &topic}, {"partitions", &partitions}, {NULL, NULL}});
    signal(SIGPIPE, SIG_IGN);
    log_make(topic, (int32_t)bench_number("partitions", partitions));
    find_upstream(upstream);
    poller = epoll_create1(EPOLL_CLOEXEC);
    listen_on_loopback();
    epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
    printf("{\"brokers\":\"127.0.0.1:%u\"}\n", own_port);
    fflush(stdout);
    for (int timeout_ms = 1000;; timeout_ms = serve_waiting()) {
        enum { EVENTS = 64 };
        struct epoll_event events[EVENTS];
        int count = epoll_wait(poller, events, EVENTS, timeout_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL) return 0;
            if (events[i].data.ptr == &listener) accept_client();
            else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(events[i].data.ptr);
        }
        for (struct connection *connection = connections, *next; connection != NULL; connection = next) {
            next = connection->next;
            send_out(&connection->client);
            send_out(&connection->upstream);
            if (connection->is_closed) end(connection);
        }
    }
}
