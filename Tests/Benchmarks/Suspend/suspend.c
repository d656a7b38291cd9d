// Lets valgrind run programs whose main thread waits in libdispatch: it writes to the set of signals of sigsuspend,
// which lies in read-only memory there, and ends with a fault. The set is copied here.
//
//   valgrind … with LD_PRELOAD=…/belfry-bench-suspend.so
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *signals) {
    // The kernel's set is the first 64 signals.
    unsigned long mask = *(const unsigned long *)signals;
    return (int)syscall(SYS_rt_sigsuspend, &mask, sizeof mask);
}
