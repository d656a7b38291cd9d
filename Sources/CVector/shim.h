#pragma once

// Instructions that Swift 6.3 cannot express. On many bytes at once: its SIMD comparisons become a loop over the lanes,
// and it has no way from a comparison to a bit mask. And to fetch memory ahead of its use.

#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Has the cache line of an address fetched. Waits for nothing and never fails.
static inline __attribute__((always_inline)) void belfry_prefetch(const void *address) {
    __builtin_prefetch(address);
}

// Bit i of the result: byte i is `"`, `\`, a control character, or not ASCII. Reads 16 bytes.
static inline __attribute__((always_inline)) uint64_t belfry_string_marks16(const uint8_t *bytes) {
#if defined(__SSE2__)
    __m128i block = _mm_loadu_si128((const __m128i *)bytes);
    __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    __m128i backslashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    // As signed numbers, bytes that are not ASCII are below the control characters.
    __m128i others = _mm_cmplt_epi8(block, _mm_set1_epi8(' '));
    return (uint64_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), others));
#else
    uint64_t marks = 0;
    for (int i = 0; i < 16; i++) {
        uint8_t byte = bytes[i];
        marks |= (uint64_t)(byte == '"' || byte == '\\' || byte < ' ' || byte > 0x7F) << i;
    }
    return marks;
#endif
}

// The same for the 64 bytes from `start` on, or for fewer at the end of the text; bits beyond `count` are 0. Reads
// nothing outside of `text`, which has `count` bytes; `start` is a multiple of 64 below `count`.
static inline __attribute__((always_inline)) uint64_t belfry_string_marks(const void *text, long start, long count) {
    const uint8_t *bytes = (const uint8_t *)text + start;
    long left = count - start;
    if (left >= 64) {
        return belfry_string_marks16(bytes) | belfry_string_marks16(bytes + 16) << 16
            | belfry_string_marks16(bytes + 32) << 32 | belfry_string_marks16(bytes + 48) << 48;
    }
    uint64_t marks = 0;
    long at = 0;
    for (; left - at >= 16; at += 16) marks |= belfry_string_marks16(bytes + at) << at;
    if (at == left) return marks;
    if (count >= 16) {
        // The last 16 bytes, some of which were looked at before.
        return marks | belfry_string_marks16(bytes + left - 16) >> (16 - (left - at)) << at;
    }
    for (; at < left; at++) {
        uint8_t byte = bytes[at];
        marks |= (uint64_t)(byte == '"' || byte == '\\' || byte < ' ' || byte > 0x7F) << at;
    }
    return marks;
}
