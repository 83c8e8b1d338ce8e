#include "client/cli/search_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/csv.h"
#include "client/cli/json.h"
#include "client/cli/shell.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

constexpr int kFileColumns = 40;  // The command beside it has the whole path.

std::string Open(const Hit& hit) {
  const std::string command =
      OpenCommand(ShortPath(hit.moment.item.file.path), hit.moment.item.start_seconds);
  if (hit.missing) return "(no such file any more)";
  return hit.changed ? absl::StrCat(command, "  (changed since)") : command;
}

std::string Table(const std::vector<Hit>& hits, bool color) {
  const bool reranked =
      std::any_of(hits.begin(), hits.end(), [](const Hit& hit) { return hit.match_logit; });
  std::vector<Column> columns = {{"SCORE", 0, Align::kRight}};
  if (reranked) columns.push_back({"MATCH", 0, Align::kRight});
  columns.insert(columns.end(),
                 {{"FILE"}, {"FROM", 0, Align::kRight}, {"TO", 0, Align::kRight}, {"OPEN"}});
  std::vector<std::vector<std::string>> rows;
  for (const Hit& hit : hits) {
    const Item& item = hit.moment.item;
    std::vector<std::string> row = {absl::StrFormat("%.3f", hit.moment.score)};
    if (reranked) row.push_back(hit.match_logit ? absl::StrFormat("%.2f", *hit.match_logit) : "-");
    row.push_back(FitText(ShortPath(item.file.path), kFileColumns, Keep::kEnd));
    row.push_back(absl::StrFormat("%.1f", item.start_seconds));
    row.push_back(absl::StrFormat("%.1f", item.end_seconds));
    row.push_back(Open(hit));
    rows.push_back(std::move(row));
  }
  return WholeTable(columns, rows, color);
}

std::string Csv(const std::vector<Hit>& hits) {
  std::string out = CsvLine({"rank", "score", "match_logit", "path", "start_s", "end_s", "id",
                             "missing", "changed", "open", "path_bytes"});
  for (size_t i = 0; i < hits.size(); ++i) {
    const Item& item = hits[i].moment.item;
    out += CsvLine({absl::StrCat(i + 1), CsvNumber(hits[i].moment.score),
                    hits[i].match_logit ? CsvNumber(*hits[i].match_logit) : "", item.file.path,
                    CsvNumber(item.start_seconds), CsvNumber(item.end_seconds), item.id,
                    hits[i].missing ? "true" : "false", hits[i].changed ? "true" : "false",
                    Open(hits[i]), Base64UnlessUtf8(item.file.path)});
  }
  return out;
}

// The double that is written with the fewest digits that tell the float.
double Short(float value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  double number = value;
  std::from_chars(digits.data(), end, number);
  return number;
}

std::string Object(const Hit& hit, size_t rank) {
  const Item& item = hit.moment.item;
  nlohmann::ordered_json json;
  json["rank"] = rank;
  json["score"] = Short(hit.moment.score);
  if (hit.match_logit) json["match_logit"] = Short(*hit.match_logit);
  json["path"] = item.file.path;
  const std::string bytes = Base64UnlessUtf8(item.file.path);
  if (!bytes.empty()) json["path_bytes"] = bytes;
  json["start_s"] = item.start_seconds;
  json["end_s"] = item.end_seconds;
  json["id"] = item.id;
  json["missing"] = hit.missing;
  json["changed"] = hit.changed;
  json["open"] = OpenCommand(item.file.path, item.start_seconds);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string ShortPath(const std::string& path) {
  std::error_code unknown;
  const std::string here = std::filesystem::current_path(unknown).native();
  if (unknown || here == "/" || !absl::StartsWith(path, here + "/")) return path;
  const std::string below = path.substr(here.size() + 1);
  return absl::StartsWith(below, "-") ? "./" + below : below;
}

std::string RenderHits(const std::vector<Hit>& hits, Format format, bool color) {
  if (format == Format::kTable) return Table(hits, color);
  if (format == Format::kCsv) return Csv(hits);
  std::string out;
  for (size_t i = 0; i < hits.size(); ++i) {
    const char* between = format == Format::kNdjson || i == 0 ? "" : ",\n";
    absl::StrAppend(&out, between, Object(hits[i], i + 1), format == Format::kNdjson ? "\n" : "");
  }
  return format == Format::kJson ? absl::StrCat("[\n", out, out.empty() ? "" : "\n", "]\n") : out;
}

}  // namespace scanline::cli
