// Counts the allocations of a program on the heap, in a file that others read while it runs.
//
//   LD_PRELOAD=…/belfry-bench-allocations.so BENCH_ALLOCATIONS=FILE PROGRAM …
//
// FILE holds two numbers of 64 bits in the machine's order: the calls that returned new or moved memory since the
// program's start, and the bytes that it holds now, as the allocator rounds them. A file that cannot be made ends the
// program with 78.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
    _Atomic uint64_t allocations;
    _Atomic int64_t held_bytes;
};

// Counts of the time before the file is there.
static struct counts early;
static struct counts *counts = &early;

// The allocator of the C library under the names that nobody replaces.
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

__attribute__((constructor)) static void open_file(void) {
    const char *file = getenv("BENCH_ALLOCATIONS");
    if (file == NULL) return;
    int descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct counts *shared = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, sizeof *shared) == 0) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (shared == MAP_FAILED) {
        fprintf(stderr, "belfry-bench-allocations: %s cannot be written\n", file);
        exit(78);
    }
    close(descriptor);
    // The program has one thread yet.
    shared->allocations = early.allocations;
    shared->held_bytes = early.held_bytes;
    counts = shared;
}

static void hold(void *memory, int64_t before) {
    if (memory == NULL) return;
    atomic_fetch_add_explicit(&counts->allocations, 1, memory_order_relaxed);
    int64_t more = (int64_t)malloc_usable_size(memory) - before;
    atomic_fetch_add_explicit(&counts->held_bytes, more, memory_order_relaxed);
}

void *malloc(size_t bytes) {
    void *memory = __libc_malloc(bytes);
    hold(memory, 0);
    return memory;
}

void *calloc(size_t count, size_t bytes) {
    void *memory = __libc_calloc(count, bytes);
    hold(memory, 0);
    return memory;
}

void *realloc(void *memory, size_t bytes) {
    int64_t before = memory == NULL ? 0 : (int64_t)malloc_usable_size(memory);
    void *moved = __libc_realloc(memory, bytes);
    if (moved != NULL) {
        hold(moved, before);
    } else if (bytes == 0) {
        atomic_fetch_sub_explicit(&counts->held_bytes, before, memory_order_relaxed);
    }
    return moved;
}

void *memalign(size_t alignment, size_t bytes) {
    void *memory = __libc_memalign(alignment, bytes);
    hold(memory, 0);
    return memory;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **place, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *memory = memalign(alignment, bytes);
    if (memory == NULL) return ENOMEM;
    *place = memory;
    return 0;
}

void free(void *memory) {
    if (memory == NULL) return;
    atomic_fetch_sub_explicit(&counts->held_bytes, (int64_t)malloc_usable_size(memory), memory_order_relaxed);
    __libc_free(memory);
}
