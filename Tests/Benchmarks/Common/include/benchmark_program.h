// The common parts of the benchmarks' C programs: options, a clock, an end with a message.
#pragma once

#include <stdint.h>

// An option `--name VALUE`. `value` points to a default, or to NULL when the option must be given.
struct bench_option {
    const char *name;
    const char **value;
};

// Reads the arguments, all of them `--name VALUE` pairs, into `options` (ended by a NULL name). Exits with 64 and a
// message on anything else, a missing value, or an option that must be given and is not.
void bench_options(int argc, char **argv, const struct bench_option *options);

// A positive number from an option's text; exits with 64 naming the option otherwise.
uint64_t bench_number(const char *name, const char *text);

// Splits "host:port" into two strings of the caller's; exits with 64 when it is not of that form.
void bench_host_port(const char *text, char host[256], char port[8]);

// Nanoseconds of CLOCK_MONOTONIC, comparable between processes of one machine.
uint64_t bench_now_ns(void);

// CPU time of all threads of this process, user and system, in microseconds.
double bench_cpu_us(void);

// Prints "<program>: <message>" on stderr and exits with 1.
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
