#pragma once

#include "absl/strings/string_view.h"

namespace scanline {

// Whether `text` is UTF-8 (RFC 3629: no surrogates, no overlong forms), as a protobuf string must
// be: a message with another one is not even read by a server.
bool IsUtf8(absl::string_view text);

}  // namespace scanline
