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

// The text that JsonString quotes.
std::string Utf8Of(absl::string_view text);
// "", or the bytes in base64 where they are no UTF-8 and Utf8Of loses some.
std::string Base64UnlessUtf8(absl::string_view bytes);

}  // namespace scanline::cli
