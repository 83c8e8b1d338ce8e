#include "client/cli/embed_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/csv.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

constexpr int kFirstValues = 4;
constexpr int kValuesWidth = 8 * kFirstValues + 1;  // "-0.0064  0.1859 -0.2172 -0.1305 …"
constexpr int kNarrowestInput = 20;

// Of a float that is written as text and read again, all digits.
std::string ExactNumber(float value) { return absl::StrFormat("%.9g", value); }

std::string ReasonOf(const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  return error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
}

class EmbedCsv : public ClipFormat {
 public:
  explicit EmbedCsv(int dim) : dim_(dim) {}

  std::string Head() override {
    std::vector<std::string> titles = {"input", "window", "start", "end", "model", "error"};
    for (int i = 0; i < dim_; ++i) titles.push_back(absl::StrCat("v", i));
    return CsvLine(titles);
  }

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) {
      std::vector<std::string> fields = {
          outcome.input, "", "", "", "", ReasonOf(outcome.result.status())};
      fields.resize(fields.size() + static_cast<size_t>(dim_));
      return CsvLine(fields);
    }
    std::string lines;
    for (const EmbeddingRow& row : RowsOf(*outcome.result)) {
      const v1::Embedding& e = *row.embedding;
      std::vector<std::string> fields = {
          outcome.input,
          row.window < 0 ? "" : absl::StrCat(row.window),
          e.has_end_offset() ? CsvNumber(Seconds(e.start_offset())) : "",
          e.has_end_offset() ? CsvNumber(Seconds(e.end_offset())) : "",
          outcome.result->model(),
          ""};
      for (const float value : e.values()) fields.push_back(ExactNumber(value));
      lines += CsvLine(fields);
    }
    return lines;
  }

 private:
  const int dim_;
};

std::vector<Column> LayOut(const TableLook& look) {
  std::vector<Column> columns = {
      {"INPUT", std::max(look.widest_input, kNarrowestInput), Align::kLeft, Keep::kEnd},
      {"SECONDS", 13},
      {"DIM", 4, Align::kRight},
      {"NORM", 5, Align::kRight},
      {"VALUES", kValuesWidth}};
  if (look.texts) {
    columns[0].title = "TEXT";
    columns[0].keep = Keep::kStart;
    columns.erase(columns.begin() + 1);
  }
  if (look.columns == 0) return columns;
  int others = 0;
  for (size_t i = 1; i < columns.size(); ++i) others += columns[i].width + columns[i].gap;
  // Where there is too little room, the values go before the name does.
  const int room = look.columns - others;
  if (room < kNarrowestInput) {
    columns.back().width = std::max(8, kValuesWidth - (kNarrowestInput - room));
  }
  columns[0].width = std::min(columns[0].width, std::max(room, kNarrowestInput));
  return columns;
}

class EmbedTable : public ClipFormat {
 public:
  explicit EmbedTable(const TableLook& look)
      : color_(look.color), texts_(look.texts), columns_(LayOut(look)) {}

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) return "";
    std::string out;
    if (!std::exchange(has_head_, true)) out = TableHead(columns_, color_);
    for (const EmbeddingRow& row : RowsOf(*outcome.result)) {
      const v1::Embedding& e = *row.embedding;
      std::vector<std::string> cells = {row.window < 0 ? outcome.input
                                                       : absl::StrCat("  window ", row.window)};
      if (!texts_) {
        cells.push_back(e.has_end_offset() ? absl::StrFormat("%.2f-%.2f", Seconds(e.start_offset()),
                                                             Seconds(e.end_offset()))
                                           : "");
      }
      cells.push_back(absl::StrCat(e.values_size()));
      cells.push_back(absl::StrFormat("%.3f", NormOf(e)));
      cells.push_back(FirstValues(e));
      absl::StrAppend(&out, TableLine(columns_, cells));
    }
    return out;
  }

 private:
  static std::string FirstValues(const v1::Embedding& embedding) {
    std::string text;
    for (int i = 0; i < std::min(kFirstValues, embedding.values_size()); ++i) {
      absl::StrAppendFormat(&text, "%7.4f ", embedding.values(i));
    }
    return absl::StrCat(text, embedding.values_size() > kFirstValues ? "…" : "");
  }

  const bool color_;
  const bool texts_;
  const std::vector<Column> columns_;
  bool has_head_ = false;
};

}  // namespace

std::vector<EmbeddingRow> RowsOf(const v1::ClipResult& result) {
  std::vector<EmbeddingRow> rows;
  if (!result.embeddings().empty()) rows.push_back({&result.embeddings(0), -1});
  for (int i = 0; i < result.windows_size(); ++i) {
    if (result.windows(i).has_embedding()) rows.push_back({&result.windows(i).embedding(), i});
  }
  return rows;
}

double NormOf(const v1::Embedding& embedding) {
  double sum = 0;
  for (const float value : embedding.values()) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

std::unique_ptr<ClipFormat> MakeEmbedCsv(int dim) { return std::make_unique<EmbedCsv>(dim); }

std::unique_ptr<ClipFormat> MakeEmbedTable(const TableLook& look) {
  return std::make_unique<EmbedTable>(look);
}

}  // namespace scanline::cli
