#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace scanline::cli {

// The message as protobuf's JSON on one line: the proto's field names, defaults included.
std::string ProtoJson(const google::protobuf::Message& message);

// A JSON string with its quotes. Bytes that are no UTF-8 (a file's name may hold them) become
// U+FFFD.
std::string JsonString(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace scanline::cli
