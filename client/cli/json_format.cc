#include "client/cli/json_format.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/clip_format.h"
#include "client/cli/json.h"

namespace scanline::cli {
namespace {

std::string Object(const Outcome& outcome, bool logits) {
  const std::string bytes =
      IsUtf8(outcome.input)
          ? ""
          : absl::StrCat("\"input_bytes\":\"", absl::Base64Escape(outcome.input), "\",");
  return absl::StrCat("{\"input\":", JsonString(outcome.input), ",", bytes,
                      ResultMember(outcome.result, logits), "}");
}

void EraseLogits(nlohmann::ordered_json& answer) {
  for (auto& one : answer.at("classes")) one.erase("logit");
}

std::string ResultJson(const v1::ClipResult& result, bool logits) {
  std::string json = ProtoJson(result);
  if (logits) return json;
  auto parsed = nlohmann::ordered_json::parse(json);
  EraseLogits(parsed);
  for (auto& window : parsed.at("windows")) EraseLogits(window);
  return parsed.dump();
}

class Ndjson : public ClipFormat {
 public:
  explicit Ndjson(bool logits) : logits_(logits) {}
  std::string Row(const Outcome& outcome) override {
    return absl::StrCat(Object(outcome, logits_), "\n");
  }

 private:
  const bool logits_;
};

class Json : public ClipFormat {
 public:
  explicit Json(bool logits) : logits_(logits) {}
  std::string Head() override { return "["; }
  std::string Row(const Outcome& outcome) override {
    const char* comma = first_ ? "\n" : ",\n";
    first_ = false;
    return absl::StrCat(comma, Object(outcome, logits_));
  }
  std::string Tail() override { return "\n]\n"; }

 private:
  const bool logits_;
  bool first_ = true;
};

}  // namespace

std::string ResultMember(const absl::StatusOr<v1::ClipResult>& result, bool logits) {
  if (result.ok()) return absl::StrCat("\"result\":", ResultJson(*result, logits));
  const ClientError error = ErrorOf(result.status());
  return absl::StrCat("\"error\":{\"code\":", JsonString(absl::StatusCodeToString(error.code)),
                      ",\"reason\":", JsonString(error.reason),
                      ",\"message\":", JsonString(error.message), "}");
}

std::unique_ptr<ClipFormat> MakeNdjson(bool logits) { return std::make_unique<Ndjson>(logits); }
std::unique_ptr<ClipFormat> MakeJson(bool logits) { return std::make_unique<Json>(logits); }

}  // namespace scanline::cli
