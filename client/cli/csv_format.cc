#include <google/protobuf/repeated_ptr_field.h>

#include "absl/strings/str_cat.h"
#include "client/cli/clip_format.h"
#include "client/cli/csv.h"

namespace scanline::cli {
namespace {

using Classes = google::protobuf::RepeatedPtrField<v1::ClassScore>;

class Csv : public ClipFormat {
 public:
  std::string Head() override {
    return CsvLine({"input", "start", "end", "label", "score", "class_index", "model", "frames",
                    "decode_seconds", "queue_seconds", "inference_seconds", "total_seconds",
                    "error"});
  }

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) {
      const ClientError error = ErrorOf(outcome.result.status());
      const std::string reason =
          error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
      return CsvLine({outcome.input, "", "", "", "", "", "", "", "", "", "", "", reason});
    }
    const v1::ClipResult& result = *outcome.result;
    std::string rows;
    if (result.windows().empty()) Append(outcome.input, "", "", result.classes(), result, rows);
    for (const v1::WindowResult& window : result.windows()) {
      Append(outcome.input, CsvNumber(Seconds(window.start_offset())),
             CsvNumber(Seconds(window.end_offset())), window.classes(), result, rows);
    }
    return rows;
  }

 private:
  static void Append(const std::string& input, const std::string& start, const std::string& end,
                     const Classes& classes, const v1::ClipResult& result, std::string& rows) {
    const v1::Timing& timing = result.timing();
    for (const v1::ClassScore& c : classes) {
      rows += CsvLine(
          {input, start, end, c.label(), CsvNumber(c.score()), absl::StrCat(c.class_index()),
           result.model(), absl::StrCat(result.sampling().frame_indices_size()),
           CsvNumber(Seconds(timing.decode())), CsvNumber(QueueSeconds(timing)),
           CsvNumber(Seconds(timing.inference())), CsvNumber(Seconds(timing.total())), ""});
    }
  }
};

}  // namespace

std::unique_ptr<ClipFormat> MakeCsv() { return std::make_unique<Csv>(); }

}  // namespace scanline::cli
