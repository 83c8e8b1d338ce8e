#include "client/cli/json_format.h"

#include "absl/strings/str_cat.h"
#include "client/cli/clip_format.h"
#include "client/cli/json.h"

namespace scanline::cli {
namespace {

std::string Object(const Outcome& outcome) {
  return absl::StrCat("{\"input\":", JsonString(outcome.input), ",", ResultMember(outcome.result),
                      "}");
}

class Ndjson : public ClipFormat {
 public:
  std::string Row(const Outcome& outcome) override { return absl::StrCat(Object(outcome), "\n"); }
};

class Json : public ClipFormat {
 public:
  std::string Head() override { return "["; }
  std::string Row(const Outcome& outcome) override {
    const char* comma = first_ ? "\n" : ",\n";
    first_ = false;
    return absl::StrCat(comma, Object(outcome));
  }
  std::string Tail() override { return "\n]\n"; }

 private:
  bool first_ = true;
};

}  // namespace

std::string ResultMember(const absl::StatusOr<v1::ClipResult>& result) {
  if (result.ok()) return absl::StrCat("\"result\":", ProtoJson(*result));
  const ClientError error = ErrorOf(result.status());
  return absl::StrCat("\"error\":{\"code\":", JsonString(absl::StatusCodeToString(error.code)),
                      ",\"reason\":", JsonString(error.reason),
                      ",\"message\":", JsonString(error.message), "}");
}

std::unique_ptr<ClipFormat> MakeNdjson() { return std::make_unique<Ndjson>(); }
std::unique_ptr<ClipFormat> MakeJson() { return std::make_unique<Json>(); }

}  // namespace scanline::cli
