// Times counted in buckets, of which the quantiles are read.
#pragma once

#include <stdint.h>
#include <stdio.h>

// Each power of two of nanoseconds is divided into so many buckets: a quantile is at most 1/128 too large.
enum { BENCH_HISTOGRAM_STEPS = 128, BENCH_HISTOGRAM_BUCKETS = 64 * BENCH_HISTOGRAM_STEPS };

// All zeros: empty.
struct bench_histogram {
    uint64_t count, largest_ns;
    uint64_t counts[BENCH_HISTOGRAM_BUCKETS];
};

// Counts a time.
void bench_histogram_add(struct bench_histogram *histogram, uint64_t ns);

// The end of the bucket below which the share `quantile`, 0...1, of all times lies, in nanoseconds, and no more than
// the largest time; 0 without any.
uint64_t bench_histogram_quantile(const struct bench_histogram *histogram, double quantile);

// Writes the fields `count`, `p50_us`, `p99_us`, `p999_us` and `largest_us` of a JSON object, without its braces.
void bench_histogram_print(const struct bench_histogram *histogram, FILE *file);
