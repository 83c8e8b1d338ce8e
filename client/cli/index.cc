#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/clip_file.h"
#include "client/cli/csv.h"
#include "client/cli/exit_code.h"
#include "client/cli/index_run.h"
#include "client/cli/inputs.h"
#include "client/cli/output.h"
#include "client/cli/same_file.h"
#include "client/cli/session.h"
#include "client/cli/table.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"
#include "client/index/index_reader.h"
#include "client/index/index_writer.h"
#include "client/index/layout.h"
#include "client/index/plan.h"
#include "client/index/skipped.h"

namespace scanline::cli {
namespace {

constexpr size_t kNamed = 5;  // Of many files only so many are named.

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

int Refuse(const absl::Status& status, int exit_code) {
  SayOnError(status.message());
  return exit_code;
}

// With paths that are the same from any folder, each once.
std::vector<FileStamp> StampsOf(const std::vector<std::string>& files) {
  std::vector<FileStamp> stamps;
  std::set<std::string> seen;
  for (const std::string& file : files) {
    const std::string path = std::filesystem::absolute(file).lexically_normal().native();
    if (seen.insert(path).second) stamps.push_back(StampOf(path));
  }
  return stamps;
}

bool IsGone(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// Whether sending the same bytes again could only fail again.
bool IsFinal(const SkippedFile& skipped) {
  return skipped.code == absl::StatusCodeToString(absl::StatusCode::kInvalidArgument) ||
         skipped.code == absl::StatusCodeToString(absl::StatusCode::kOutOfRange);
}

// What earlier runs left out, as far as it is still so.
class Earlier {
 public:
  Earlier(const std::string& folder, bool retry) {
    for (SkippedFile& skipped : ReadSkipped(folder)) {
      const bool duplicate = !skipped.same_as.empty();
      if (!duplicate && (retry || !IsFinal(skipped))) continue;
      if (StampOf(skipped.file.path) != skipped.file) continue;
      const std::string path = skipped.file.path;
      (duplicate ? duplicates_ : failed_)[path] = std::move(skipped);
    }
  }

  // Takes those of `found` that need not be sent, since they can only fail, out of it.
  int TakeFailed(std::vector<FileStamp>& found) const {
    return static_cast<int>(std::erase_if(
        found, [this](const FileStamp& file) { return failed_.count(file.path) > 0; }));
  }

  // "": not known.
  std::string Sha256(const std::string& path) const {
    const auto known = duplicates_.find(path);
    return known == duplicates_.end() ? "" : known->second.sha256;
  }

  // What of it stays said: what failed, and duplicates that this run did not look at.
  std::vector<SkippedFile> Remaining(const std::vector<FileStamp>& found) const {
    std::map<std::string, SkippedFile> all = duplicates_;
    for (const FileStamp& file : found) all.erase(file.path);
    all.insert(failed_.begin(), failed_.end());
    std::vector<SkippedFile> lines;
    for (auto& [path, skipped] : all) lines.push_back(std::move(skipped));
    return lines;
  }

 private:
  std::map<std::string, SkippedFile> failed_;
  std::map<std::string, SkippedFile> duplicates_;
};

struct Summary {
  std::string folder;
  std::string model;
  int64_t items = 0;
  int files = 0;
  int unchanged = 0;
  int sent = 0;
  int changed = 0;
  int moved = 0;
  int pruned = 0;
  int missing = 0;
  int duplicates = 0;
  int skipped = 0;
};

nlohmann::ordered_json ToJson(const Summary& summary) {
  return {{"index", summary.folder},          {"model", summary.model},
          {"moments", summary.items},         {"files", summary.files},
          {"unchanged", summary.unchanged},   {"sent", summary.sent},
          {"changed", summary.changed},       {"moved", summary.moved},
          {"pruned", summary.pruned},         {"missing", summary.missing},
          {"duplicates", summary.duplicates}, {"skipped", summary.skipped}};
}

std::string Render(const Summary& summary, Format format, bool color) {
  const nlohmann::ordered_json json = ToJson(summary);
  const auto text = [](const nlohmann::ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  if (format == Format::kTable || format == Format::kCsv) {
    std::vector<Column> columns;
    std::vector<std::string> titles;
    std::vector<std::string> cells;
    for (const auto& [key, value] : json.items()) {
      columns.push_back(
          {absl::AsciiStrToUpper(key), 0, value.is_string() ? Align::kLeft : Align::kRight});
      titles.push_back(key);
      cells.push_back(text(value));
    }
    if (format == Format::kTable) return WholeTable(columns, {cells}, color);
    return CsvLine(titles) + CsvLine(cells);
  }
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return absl::StrCat(json.dump(format == Format::kJson ? 1 : -1, ' ', false, kReplace), "\n");
}

std::string Files(size_t count) { return absl::StrCat(count, count == 1 ? " file" : " files"); }

std::string Names(const std::vector<std::string>& all) {
  const size_t named = std::min(kNamed, all.size());
  return absl::StrCat(absl::StrJoin(all.begin(), all.begin() + static_cast<int64_t>(named), ", "),
                      named < all.size() ? absl::StrCat(" and ", all.size() - named, " more") : "");
}

void SayWhatStays(const IndexPlan& plan, int failed_before, const std::string& folder) {
  if (!plan.missing.empty()) {
    SayOnError(
        absl::StrCat(plan.missing.size(),
                     " files of the index are gone; --prune drops them: ", Names(plan.missing)));
  }
  if (failed_before > 0) {
    SayOnError(absl::StrCat(Files(static_cast<size_t>(failed_before)),
                            " failed before, as it is now; --retry sends such again (", folder,
                            "/skipped.ndjson names them)"));
  }
}

bool Embeds(const v1::Model& model) {
  for (const int task : model.tasks()) {
    if (task == v1::TASK_EMBED) return true;
  }
  return false;
}

IndexInfo WantedInfo(const Args& args, const v1::Model& model) {
  IndexInfo info = InfoOf(model);
  info.window_seconds = args.window_seconds;
  info.stride_seconds = args.window_stride_seconds;
  return info;
}

// The model that is asked for: of an index that goes on, its own.
std::string ModelToAsk(const Args& args) {
  if (!args.model.empty() || args.index.rebuild) return args.model;
  const auto info = ReadIndexInfo(args.index.folder);
  return info.ok() ? info->model.substr(0, info->model.find('@')) : "";
}

IndexPlan MakePlan(const Args& args, const Session& session, const Earlier& earlier,
                   const std::vector<FileStamp>& found, const IndexWriter& writer) {
  const auto go_on = [&session]() -> absl::Status {
    if (session.client->cancelled()) return absl::CancelledError("interrupted");
    return absl::OkStatus();
  };
  return PlanIndex(writer.files(), found, args.index.prune,
                   {.exists = [](const std::string& path) { return !IsGone(path); },
                    .sha256 =
                        [&](const std::string& path) {
                          const std::string known = earlier.Sha256(path);
                          return known.empty() ? ContentDigest(path, go_on) : known;
                        }});
}

// What is left out without having been sent: what failed before, and what has the bytes of another.
std::vector<SkippedFile> SkippedAlready(const Earlier& earlier, const IndexPlan& plan,
                                        const std::vector<FileStamp>& found,
                                        const IndexWriter& writer) {
  std::map<std::string, std::string> sha256_of;
  for (const IndexedFile& file : writer.files()) sha256_of[file.stamp.path] = file.sha256;
  std::vector<SkippedFile> skipped = earlier.Remaining(found);
  for (const auto& [place, same_as] : plan.duplicates) {
    skipped.push_back({.file = found[place], .sha256 = sha256_of[same_as], .same_as = same_as});
  }
  return skipped;
}

int Finish(const Args& args, const Terminal& terminal, const Summary& summary) {
  Output output;
  output.Write(
      Render(summary, ResolveFormat(args.format, terminal), UseColor(args.color, terminal)));
  if (!output.ok()) {
    ReportOutputError(output);
    return kExitInputFailed;
  }
  if (summary.skipped == 0) return kExitOk;
  SayOnError(absl::StrCat(Files(static_cast<size_t>(summary.skipped)), " skipped; ", summary.folder,
                          "/skipped.ndjson says why"));
  return kExitInputFailed;
}

// The request itself is refused, and would be again. An index without rows goes: it would hold
// later runs to these settings.
int EndRefused(const IndexSent& sent, int total, IndexWriter& writer) {
  SayOnError(absl::StrCat("stopped: ", sent.not_done, " of ", total, " files not done"));
  if (writer.info().count > 0) return kExitUsage;
  const absl::Status discarded = writer.Discard();
  return discarded.ok() ? kExitUsage : Refuse(discarded, kExitUsage);
}

// What the arguments stand for. With --prune a folder that was emptied is one whose rows go.
absl::StatusOr<Inputs> IndexInputs(const Args& args) {
  const bool goes_on = !args.index.rebuild && ReadIndexInfo(args.index.folder).ok();
  auto inputs = ExpandInputs(args.inputs, goes_on && args.index.prune);
  if (goes_on && absl::IsNotFound(inputs.status())) {
    return absl::NotFoundError(absl::StrCat(inputs.status().message(), "; --prune drops what ",
                                            args.index.folder, " has of files that are gone"));
  }
  return inputs;
}

// From here on a session and a folder are there.
int Run(const Args& args, const Terminal& terminal, const Interrupt& interrupt,
        const Session& session, std::vector<FileStamp> found, IndexWriter& writer) {
  const Earlier earlier(args.index.folder, args.index.retry);
  const int failed_before = earlier.TakeFailed(found);
  const IndexPlan plan = MakePlan(args, session, earlier, found, writer);
  if (interrupt.raised()) return kExitInterrupted;
  if (plan.rewrite) {
    const absl::Status rewritten = writer.Rewrite(plan.kept);
    if (!rewritten.ok()) return Refuse(rewritten, kExitInputFailed);
  }
  const absl::Status written =
      WriteSkipped(args.index.folder, SkippedAlready(earlier, plan, found, writer));
  if (!written.ok()) return Refuse(written, kExitInputFailed);
  SayWhatStays(plan, failed_before, args.index.folder);

  std::vector<FileStamp> files;
  for (const size_t place : plan.send) files.push_back(found[place]);
  const int total = static_cast<int>(found.size()) + failed_before;
  const IndexSent sent = SendToIndex(args, terminal, interrupt, session, files, total,
                                     total - static_cast<int>(files.size()), writer);
  if (sent.stopped == kExitUsage) return EndRefused(sent, total, writer);
  if (sent.stopped != kExitOk) {
    SayOnError(absl::StrCat(interrupt.raised() ? "interrupted: " : "stopped: ", sent.not_done,
                            " of ", total, " files not done; the same command",
                            args.index.rebuild ? " without --rebuild" : "", " goes on from here"));
    return sent.stopped;
  }
  return Finish(args, terminal,
                {.folder = args.index.folder,
                 .model = writer.info().model,
                 .items = writer.info().count,
                 .files = static_cast<int>(writer.files().size()),
                 .unchanged = plan.unchanged,
                 .sent = sent.added,
                 .changed = plan.changed,
                 .moved = plan.moved,
                 .pruned = plan.pruned,
                 .missing = static_cast<int>(plan.missing.size()),
                 .duplicates = static_cast<int>(plan.duplicates.size()),
                 .skipped = failed_before + sent.failed});
}

std::vector<NamedFile> FilesOfIndex(const std::string& folder) {
  std::vector<NamedFile> files;
  for (const char* name : {index_layout::kInfo, index_layout::kReplace, index_layout::kRows,
                           index_layout::kItems, index_layout::kSkipped}) {
    files.push_back({"-o", index_layout::PathOf(folder, name)});
  }
  return files;
}

}  // namespace

int RunIndex(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const absl::Status can_write = CheckWritten(FilesOfIndex(args.index.folder), FilesRead(args, {}));
  if (!can_write.ok()) return Refuse(can_write, kExitUsage);
  const auto inputs = IndexInputs(args);
  if (!inputs.ok()) return Refuse(inputs.status(), kExitUsage);
  for (const std::string& note : inputs->notes) SayOnError(note);
  const auto session = OpenSession(args.server, ModelToAsk(args));
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  const v1::Model& model = session->model;
  if (!Embeds(model) || model.embedding_dim() == 0) {
    return Refuse(absl::InvalidArgumentError(absl::StrCat(
                      absl::StripPrefix(model.name(), "models/"),
                      " makes no vectors (TASK_EMBED); scanline models lists those that do")),
                  kExitNoModel);
  }
  auto writer = IndexWriter::Open(args.index.folder, WantedInfo(args, model),
                                  {.rebuild = args.index.rebuild});
  if (!writer.ok()) return Refuse(writer.status(), kExitUsage);
  interrupt.Watch(session->client.get());
  const int exit_code = Run(args, terminal, interrupt, *session, StampsOf(inputs->files), **writer);
  interrupt.Watch(nullptr);
  return exit_code;
}

}  // namespace scanline::cli
