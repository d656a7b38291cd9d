#pragma once

#include <stddef.h>
#include <stdint.h>

// The compiler's fuzzing library has no header. Its own main function calls this; the package manager puts ours in the
// place of that, so ours has to ("Using libFuzzer as a library" in LLVM's documentation).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
