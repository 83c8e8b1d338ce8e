#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Leaves the function with the Status of `expr` when it is an error.
#define SCANLINE_RETURN_IF_ERROR(expr)                                  \
  do {                                                                  \
    if (absl::Status scanline_status = (expr); !scanline_status.ok()) { \
      return scanline_status;                                           \
    }                                                                   \
  } while (false)

// `lhs` = the value of the StatusOr `expr`, or leaves the function with its Status.
#define SCANLINE_ASSIGN_OR_RETURN(lhs, expr) \
  SCANLINE_ASSIGN_OR_RETURN_IMPL_(SCANLINE_CONCAT_(scanline_or_, __LINE__), lhs, expr)

#define SCANLINE_CONCAT_INNER_(a, b) a##b
#define SCANLINE_CONCAT_(a, b) SCANLINE_CONCAT_INNER_(a, b)
#define SCANLINE_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) return std::move(tmp).status();        \
  lhs = *std::move(tmp)
