#include "client/cli/retrieval_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/csv.h"
#include "client/cli/json.h"
#include "client/cli/outcome.h"
#include "client/cli/report_json.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a terminal shows of long lists; the files have all of it.
constexpr size_t kMostMisses = 10;
constexpr size_t kMostSkipped = 20;

// One way of asking, for the rows of the table and of the CSV.
struct Way {
  const char* name;
  bool reranked;
  const RetrievalScores& scores;
};

std::vector<Way> WaysOf(const RetrievalReport& report) {
  std::vector<Way> ways = {{"text to video", false, report.by_similarity.text_to_video},
                           {"video to text", false, report.by_similarity.video_to_text}};
  if (report.reranked.has_value()) {
    ways.push_back({"text to video", true, report.reranked->text_to_video});
    ways.push_back({"video to text", true, report.reranked->video_to_text});
  }
  return ways;
}

const std::string& ClipPath(const RetrievalReport& report, size_t i) {
  return report.set.clips[report.gallery.clips()[i]].path;
}

const std::string& CaptionText(const RetrievalReport& report, size_t i) {
  return report.set.captions[report.gallery.captions()[i]].text;
}

Json WayJson(const RetrievalReport& report, const RetrievalScores& scores, bool by_text) {
  Json json = {{"queries", scores.recall_at_1.of},
               {"recall_at_1", ShareJson(scores.recall_at_1)},
               {"recall_at_5", ShareJson(scores.recall_at_5)},
               {"recall_at_10", ShareJson(scores.recall_at_10)},
               {"median_rank", NumberJson(scores.median_rank)},
               {"misses", Json::array()}};
  for (const Miss& miss : scores.misses) {
    Json one;
    one[by_text ? "caption" : "input"] =
        by_text ? CaptionText(report, miss.query) : ClipPath(report, miss.query);
    one["rank"] = miss.rank;
    one["first"] = by_text ? ClipPath(report, miss.first) : CaptionText(report, miss.first);
    json["misses"].push_back(std::move(one));
  }
  return json;
}

Json BothJson(const RetrievalReport& report, const BothWays& both) {
  return {{"text_to_video", WayJson(report, both.text_to_video, true)},
          {"video_to_text", WayJson(report, both.video_to_text, false)}};
}

// What was left out or answered with a warning, of clips and captions.
void AddExceptions(const RetrievalReport& report, Json& json) {
  std::map<std::string, int> reasons;
  json["skipped"] = Json::array();
  json["answered_with_warning"] = Json::array();
  for (size_t i = 0; i < report.clips.size(); ++i) {
    const RetrievalAnswer& clip = report.clips[i];
    const std::string& path = report.set.clips[i].path;
    if (clip.skipped()) {
      ++reasons[clip.error->reason];
      json["skipped"].push_back(
          {{"input", path}, {"reason", clip.error->reason}, {"message", clip.error->message}});
    } else if (!clip.warnings.empty()) {
      json["answered_with_warning"].push_back({{"input", path}, {"reasons", clip.warnings}});
    }
  }
  json["skipped_by_reason"] = reasons;
  json["skipped_captions"] = Json::array();
  json["captions_with_warning"] = Json::array();
  for (size_t i = 0; i < report.captions.size(); ++i) {
    const CaptionAnswer& caption = report.captions[i];
    const std::string& text = report.set.captions[i].text;
    if (caption.error.has_value()) {
      json["skipped_captions"].push_back({{"caption", text},
                                          {"reason", caption.error->reason},
                                          {"message", caption.error->message}});
    } else if (!caption.warnings.empty()) {
      json["captions_with_warning"].push_back({{"caption", text}, {"warnings", caption.warnings}});
    }
  }
}

std::string Percent(double share) {
  return std::isfinite(share) ? absl::StrFormat("%.1f", 100 * share) : "-";
}

std::string ShareText(const Share& share) {
  return absl::StrCat(Percent(share.value), " [", Percent(share.low), ", ", Percent(share.high),
                      "]");
}

std::string MissTable(const RetrievalReport& report, bool color) {
  const BothWays& both = report.reranked.has_value() ? *report.reranked : report.by_similarity;
  const std::vector<Miss>& misses = both.text_to_video.misses;
  if (misses.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Miss& miss : misses) {
    if (rows.size() == kMostMisses) break;
    rows.push_back(
        {CaptionText(report, miss.query), absl::StrCat(miss.rank), ClipPath(report, miss.first)});
  }
  return absl::StrCat(
      "\n", WholeTable({{"CAPTION"}, {"RANK", 0, Align::kRight}, {"FOUND FIRST"}}, rows, color),
      MoreText(misses.size(), rows.size(), "captions that did not find their clip first"));
}

std::string SkippedText(const RetrievalReport& report) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < report.clips.size(); ++i) {
    if (!report.clips[i].skipped()) continue;
    lines.push_back(absl::StrCat(report.set.clips[i].path, ": ", Sentence(*report.clips[i].error)));
  }
  for (size_t i = 0; i < report.captions.size(); ++i) {
    if (!report.captions[i].error.has_value()) continue;
    lines.push_back(absl::StrCat("\"", report.set.captions[i].text,
                                 "\": ", Sentence(*report.captions[i].error)));
  }
  if (lines.empty()) return "";
  std::string text = absl::StrCat("\nskipped, neither asked nor found: ", SkippedClips(report),
                                  " of ", report.clips.size(), " clips, ", SkippedCaptions(report),
                                  " of ", report.captions.size(), " captions\n");
  for (size_t i = 0; i < std::min(kMostSkipped, lines.size()); ++i) {
    absl::StrAppend(&text, "  ", PrintableText(lines[i]), "\n");
  }
  return absl::StrCat(text, MoreText(lines.size(), kMostSkipped, "skipped"));
}

}  // namespace

size_t SkippedClips(const RetrievalReport& report) {
  return static_cast<size_t>(
      std::count_if(report.clips.begin(), report.clips.end(),
                    [](const RetrievalAnswer& clip) { return clip.skipped(); }));
}

size_t SkippedCaptions(const RetrievalReport& report) {
  return static_cast<size_t>(
      std::count_if(report.captions.begin(), report.captions.end(),
                    [](const CaptionAnswer& caption) { return caption.error.has_value(); }));
}

std::string RetrievalJson(const RetrievalReport& report, int indent) {
  Json json;
  json["format"] = 1;
  json["task"] = "retrieval";
  json["model"] = {{"name", std::string(absl::StripPrefix(report.model.name(), "models/"))},
                   {"version", report.model.version()},
                   {"weights_sha256", report.model.weights_sha256()},
                   {"precision", report.model.precision()},
                   {"embedding_dim", report.model.embedding_dim()}};
  json["settings"] = Json::parse(ProtoJson(report.spec));
  json["manifest"] = report.manifest;
  json["clips"] = report.set.clips.size();
  json["captions"] = report.set.captions.size();
  json["scored_clips"] = report.gallery.clips().size();
  json["scored_captions"] = report.gallery.captions().size();
  json.update(BothJson(report, report.by_similarity));
  if (report.reranked.has_value()) {
    json["reranked"] = {{"items", kRerankedItems}};
    json["reranked"].update(BothJson(report, *report.reranked));
  }
  AddExceptions(report, json);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RetrievalCsv(const RetrievalReport& report) {
  std::string out = CsvLine({"direction", "reranked", "queries", "recall_at_1", "recall_at_5",
                             "recall_at_10", "median_rank"});
  for (const Way& way : WaysOf(report)) {
    const RetrievalScores& s = way.scores;
    absl::StrAppend(
        &out, CsvLine({way.name, way.reranked ? "true" : "false", absl::StrCat(s.recall_at_1.of),
                       CsvNumber(s.recall_at_1.value), CsvNumber(s.recall_at_5.value),
                       CsvNumber(s.recall_at_10.value), CsvNumber(s.median_rank)}));
  }
  return out;
}

std::string RetrievalTable(const RetrievalReport& report, bool color) {
  std::vector<std::vector<std::string>> rows;
  for (const Way& way : WaysOf(report)) {
    const RetrievalScores& s = way.scores;
    rows.push_back({absl::StrCat(way.name, way.reranked ? ", reranked" : ""),
                    ShareText(s.recall_at_1), ShareText(s.recall_at_5), ShareText(s.recall_at_10),
                    std::isfinite(s.median_rank) ? absl::StrFormat("%.1f", s.median_rank) : "-"});
  }
  return absl::StrCat(WholeTable({{""},
                                  {"R@1 %", 0, Align::kRight},
                                  {"R@5 %", 0, Align::kRight},
                                  {"R@10 %", 0, Align::kRight},
                                  {"MEDIAN RANK", 0, Align::kRight}},
                                 rows, color),
                      report.gallery.captions().size(), " captions, ",
                      report.gallery.clips().size(), " clips\n", MissTable(report, color),
                      SkippedText(report));
}

}  // namespace scanline::cli
