#include "client/cli/json_format.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/clip_format.h"
#include "client/cli/json.h"
#include "client/utf8.h"

namespace scanline::cli {
namespace {

std::string Object(const Outcome& outcome, bool logits, bool detections) {
  const std::string bytes =
      IsUtf8(outcome.input)
          ? ""
          : absl::StrCat("\"input_bytes\":\"", absl::Base64Escape(outcome.input), "\",");
  return absl::StrCat("{\"input\":", JsonString(outcome.input), ",", bytes,
                      ResultMember(outcome.result, logits, detections), "}");
}

void EraseLogits(nlohmann::ordered_json& answer) {
  for (auto& one : answer.at("classes")) one.erase("logit");
}

// What a request did not ask for is empty in its answer; it would only be in the way.
void EraseEmpty(nlohmann::ordered_json& answer, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = answer.find(name);
    if (found != answer.end() && (found->empty() || *found == false)) answer.erase(found);
  }
}

std::string ResultJson(const v1::ClipResult& result, bool logits, bool detections) {
  auto json = nlohmann::ordered_json::parse(ProtoJson(result));
  const bool classless = detections || !result.embeddings().empty();
  if (!logits) EraseLogits(json);
  for (auto& window : json.at("windows")) {
    if (!logits) EraseLogits(window);
    EraseEmpty(window, {"text_matches"});
    if (classless) EraseEmpty(window, {"classes"});
  }
  if (classless) EraseEmpty(json, {"classes"});
  if (json.contains("sampling")) EraseEmpty(json["sampling"], {"frames"});
  if (!logits) {
    for (auto& detection : json.at("detections")) EraseLogits(detection);
  }
  // That nobody does anything is an answer too.
  if (!detections) EraseEmpty(json, {"detections"});
  EraseEmpty(json, {"embeddings", "text_matches", "windows", "from_cache"});
  return json.dump();
}

class Ndjson : public ClipFormat {
 public:
  Ndjson(bool logits, bool detections) : logits_(logits), detections_(detections) {}
  std::string Row(const Outcome& outcome) override {
    return absl::StrCat(Object(outcome, logits_, detections_), "\n");
  }

 private:
  const bool logits_;
  const bool detections_;
};

class Json : public ClipFormat {
 public:
  Json(bool logits, bool detections) : logits_(logits), detections_(detections) {}
  std::string Head() override { return "["; }
  std::string Row(const Outcome& outcome) override {
    const char* comma = first_ ? "\n" : ",\n";
    first_ = false;
    return absl::StrCat(comma, Object(outcome, logits_, detections_));
  }
  std::string Tail() override { return "\n]\n"; }

 private:
  const bool logits_;
  const bool detections_;
  bool first_ = true;
};

}  // namespace

std::string ResultMember(const absl::StatusOr<v1::ClipResult>& result, bool logits,
                         bool detections) {
  if (result.ok()) return absl::StrCat("\"result\":", ResultJson(*result, logits, detections));
  const ClientError error = ErrorOf(result.status());
  return absl::StrCat("\"error\":{\"code\":", JsonString(absl::StatusCodeToString(error.code)),
                      ",\"reason\":", JsonString(error.reason),
                      ",\"message\":", JsonString(error.message), "}");
}

std::unique_ptr<ClipFormat> MakeNdjson(bool logits, bool detections) {
  return std::make_unique<Ndjson>(logits, detections);
}
std::unique_ptr<ClipFormat> MakeJson(bool logits, bool detections) {
  return std::make_unique<Json>(logits, detections);
}

}  // namespace scanline::cli
