#pragma once

#include <cstdio>
#include <cstdlib>

// For what only a bug in this program can cause. What the outside world can cause is an
// absl::Status.
#define SCANLINE_CHECK(condition)                                                        \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
