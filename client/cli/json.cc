#include "client/cli/json.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "base/check.h"

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

bool IsUtf8(absl::string_view text) {
  try {
    static_cast<void>(nlohmann::json(std::string(text)).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace scanline::cli
