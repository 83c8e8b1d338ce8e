#include <google/protobuf/repeated_ptr_field.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/clip_format.h"
#include "client/cli/csv.h"

namespace scanline::cli {
namespace {

using Matches = google::protobuf::RepeatedPtrField<v1::TextMatch>;

class Csv : public ClipFormat {
 public:
  explicit Csv(bool texts) : texts_(texts) {}

  std::string Head() override {
    return Line({"input", "start", "end", "label", "score", "similarity", "class_index", "model",
                 "frames", "decode_seconds", "queue_seconds", "inference_seconds", "total_seconds",
                 "error"});
  }

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) {
      const ClientError error = ErrorOf(outcome.result.status());
      const std::string reason =
          error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
      return Line({outcome.input, "", "", "", "", "", "", "", "", "", "", "", "", reason});
    }
    const v1::ClipResult& result = *outcome.result;
    std::string rows;
    if (result.windows().empty()) Append(outcome.input, "", "", result, result, rows);
    for (const v1::WindowResult& window : result.windows()) {
      Append(outcome.input, CsvNumber(Seconds(window.start_offset())),
             CsvNumber(Seconds(window.end_offset())), window, result, rows);
    }
    return rows;
  }

 private:
  static constexpr int kSimilarity = 5;  // the column

  std::string Line(std::vector<std::string> fields) const {
    if (!texts_) fields.erase(fields.begin() + kSimilarity);
    return CsvLine(fields);
  }

  // `answer`: the clip's or one window's classes and text matches.
  template <typename Answer>
  void Append(const std::string& input, const std::string& start, const std::string& end,
              const Answer& answer, const v1::ClipResult& result, std::string& rows) const {
    const v1::Timing& timing = result.timing();
    for (const v1::ClassScore& c : answer.classes()) {
      rows +=
          Line({input, start, end, c.label(), CsvNumber(c.score()),
                SimilarityText(answer.text_matches(), c), absl::StrCat(c.class_index()),
                result.model(), absl::StrCat(result.sampling().frame_indices_size()),
                CsvNumber(Seconds(timing.decode())), CsvNumber(QueueSeconds(timing)),
                CsvNumber(Seconds(timing.inference())), CsvNumber(Seconds(timing.total())), ""});
    }
  }

  static std::string SimilarityText(const Matches& matches, const v1::ClassScore& c) {
    const auto index = static_cast<int>(c.class_index());
    return index < matches.size() ? CsvNumber(matches[index].similarity()) : "";
  }

  const bool texts_;
};

}  // namespace

std::unique_ptr<ClipFormat> MakeCsv(bool texts) { return std::make_unique<Csv>(texts); }

}  // namespace scanline::cli
