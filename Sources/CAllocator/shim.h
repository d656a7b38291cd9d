#pragma once

// Settings of the C library's allocator, which Swift's module of that library leaves out.

#include <malloc.h>
