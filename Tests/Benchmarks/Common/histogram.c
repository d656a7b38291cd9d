#include "benchmark_histogram.h"

#include <inttypes.h>

// Below 128 ns a bucket is a nanosecond; above, the seven bits behind the highest one number the steps of its power.
static unsigned bucket(uint64_t ns) {
    if (ns < BENCH_HISTOGRAM_STEPS) return (unsigned)ns;
    int shift = 63 - __builtin_clzll(ns) - 7;
    return (unsigned)(shift + 1) * BENCH_HISTOGRAM_STEPS + (unsigned)(ns >> shift) % BENCH_HISTOGRAM_STEPS;
}

// The largest time that a bucket counts.
static uint64_t end(unsigned bucket) {
    if (bucket < BENCH_HISTOGRAM_STEPS) return bucket;
    unsigned shift = bucket / BENCH_HISTOGRAM_STEPS - 1;
    uint64_t steps = BENCH_HISTOGRAM_STEPS + bucket % BENCH_HISTOGRAM_STEPS;
    return ((steps + 1) << shift) - 1;
}

void bench_histogram_add(struct bench_histogram *histogram, uint64_t ns) {
    histogram->count++;
    if (ns > histogram->largest_ns) histogram->largest_ns = ns;
    histogram->counts[bucket(ns)]++;
}

uint64_t bench_histogram_quantile(const struct bench_histogram *histogram, double quantile) {
    uint64_t seen = 0;
    double wanted = quantile * (double)histogram->count;
    for (unsigned i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) {
        if (histogram->counts[i] == 0) continue;
        seen += histogram->counts[i];
        if ((double)seen >= wanted) return end(i) < histogram->largest_ns ? end(i) : histogram->largest_ns;
    }
    return histogram->largest_ns;
}

void bench_histogram_print(const struct bench_histogram *histogram, FILE *file) {
    fprintf(file, "\"count\":%" PRIu64 ",\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"largest_us\":%.1f",
            histogram->count, (double)bench_histogram_quantile(histogram, 0.5) / 1e3,
            (double)bench_histogram_quantile(histogram, 0.99) / 1e3,
            (double)bench_histogram_quantile(histogram, 0.999) / 1e3, (double)histogram->largest_ns / 1e3);
}
