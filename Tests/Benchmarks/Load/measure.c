// Another program under measurement. Its parent is this small one, since the kernel counts the largest resident set of
// the parent, up to the moment at which the program takes its place, as the program's own.
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmark_program.h"

static double microseconds(struct timeval time) { return (double)time.tv_sec * 1e6 + (double)time.tv_usec; }

void load_measure(char **command) {
    uint64_t begin = bench_now_ns();
    pid_t child = fork();
    if (child < 0) bench_fail("no process: %s", strerror(errno));
    if (child == 0) {
        execv(command[0], command);
        bench_fail("%s: %s", command[0], strerror(errno));
    }
    int status = 0;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0) {
        if (errno != EINTR) bench_fail("%s: %s", command[0], strerror(errno));
    }
    double seconds = (double)(bench_now_ns() - begin) / 1e9;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) bench_fail("%s failed: status %d", command[0], status);
    // ru_maxrss is in KiB.
    printf("{\"seconds\":%.6f,\"cpu_us\":%.0f,\"peak_kib\":%ld}\n", seconds,
           microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_maxrss);
}
