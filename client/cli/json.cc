#include "client/cli/json.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "client/utf8.h"

namespace scanline::cli {

std::string ProtoJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  SCANLINE_CHECK(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

std::string JsonString(absl::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Utf8Of(absl::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  return nlohmann::json::parse(JsonString(text)).get<std::string>();
}

std::string Base64UnlessUtf8(absl::string_view bytes) {
  return IsUtf8(bytes) ? "" : absl::Base64Escape(bytes);
}

}  // namespace scanline::cli
