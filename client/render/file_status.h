#pragma once

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace scanline::render {

// An error of the file system: its own code, and `what` with errno's sentence.
inline absl::Status FileError(int error, absl::string_view what) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(what, ": ", std::strerror(error)));
}

}  // namespace scanline::render
