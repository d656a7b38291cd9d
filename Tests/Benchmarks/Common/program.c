#define _GNU_SOURCE
#include "benchmark_program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 64 };

static _Noreturn void end(int code, const char *format, va_list arguments) {
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(code);
}

_Noreturn void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(EXIT_FAILED, format, arguments);
}

__attribute__((format(printf, 1, 2))) static _Noreturn void usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(EXIT_USAGE, format, arguments);
}

void bench_options(int argc, char **argv, const struct bench_option *options) {
    for (int index = 1; index < argc; index += 2) {
        const struct bench_option *option = options;
        const char *name = strncmp(argv[index], "--", 2) == 0 ? argv[index] + 2 : "";
        while (option->name != NULL && strcmp(option->name, name) != 0) option++;
        if (option->name == NULL) usage("unknown option %s", argv[index]);
        if (index + 1 == argc) usage("%s needs a value", argv[index]);
        *option->value = argv[index + 1];
    }
    for (const struct bench_option *option = options; option->name != NULL; option++) {
        if (*option->value == NULL) usage("--%s is missing", option->name);
    }
}

uint64_t bench_number(const char *name, const char *text) {
    char *rest;
    errno = 0;
    unsigned long long value = strtoull(text, &rest, 10);
    if (errno != 0 || rest == text || *rest != '\0') usage("--%s: '%s' is not a number", name, text);
    return value;
}

void bench_host_port(const char *text, char host[256], char port[8]) {
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || colon - text > 255 || strlen(colon + 1) - 1 > 6) {
        usage("'%s' is not host:port", text);
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    strcpy(port, colon + 1);
}

uint64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double bench_cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
