#include "client/index/index_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "client/index/index_reader.h"
#include "client/index/layout.h"
#include "client/index/npy.h"

namespace scanline {
namespace {

namespace layout = index_layout;

constexpr int64_t kCommitShare = 10;     // Commits take up to 1 / kCommitShare of the time.
constexpr double kUnitTolerance = 1e-3;  // of a row's length: float32 and bf16 models alike
constexpr size_t kCopyBytes = 8 << 20;

std::string Weights(const IndexInfo& info) {
  return absl::StrCat(info.model, " (weights ",
                      info.weights_sha256.empty() ? "not told" : info.weights_sha256.substr(0, 12),
                      ")");
}

std::string Windows(const IndexInfo& info) {
  if (info.window_seconds <= 0 && info.stride_seconds <= 0) return "the model's own windows";
  const auto text = [](double seconds) {
    return seconds > 0 ? absl::StrCat(seconds, " s") : std::string("the model's own length");
  };
  return absl::StrCat("windows of ", text(info.window_seconds), ", stride ",
                      text(info.stride_seconds));
}

bool IsUnit(absl::Span<const float> row) {
  double sum = 0;
  for (const float x : row) sum += double{x} * x;
  return std::abs(std::sqrt(sum) - 1) <= kUnitTolerance;
}

// Adds a moment to the file that it belongs to, which is the last one or a new one.
void AddMoment(const Item& item, int64_t row, std::vector<IndexedFile>& files) {
  const bool same =
      !files.empty() && files.back().stamp == item.file && files.back().sha256 == item.sha256;
  if (same) {
    ++files.back().rows;
  } else {
    files.push_back({item.file, item.sha256, row, 1});
  }
}

absl::Status Busy(const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("another scanline index is at work in ", folder));
}

}  // namespace

std::string WhyNotSameIndex(const IndexInfo& there, const IndexInfo& wanted) {
  const bool weights = there.weights_sha256 == wanted.weights_sha256 &&
                       (!there.weights_sha256.empty() || there.model == wanted.model);
  if (!weights || there.dim != wanted.dim) {
    return absl::StrCat("made with ", Weights(there), ", the server has ", Weights(wanted),
                        ", whose vectors compare with nothing in it");
  }
  const auto differs = [](double a, double b) { return b > 0 && a != b; };
  if (differs(there.window_seconds, wanted.window_seconds) ||
      differs(there.stride_seconds, wanted.stride_seconds)) {
    return absl::StrCat("made with ", Windows(there), ", asked for are ", Windows(wanted));
  }
  return "";
}

absl::StatusOr<std::unique_ptr<IndexWriter>> IndexWriter::Open(const std::string& folder,
                                                               const IndexInfo& wanted,
                                                               const IndexWriterOptions& options) {
  SCANLINE_CHECK(wanted.dim > 0);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  }
  std::unique_ptr<IndexWriter> writer(new IndexWriter(folder, options));
  SCANLINE_RETURN_IF_ERROR(writer->Lock());
  auto state = layout::ReadState(folder);
  if (absl::IsNotFound(state.status())) {
    for (const char* name : {layout::kRows, layout::kItems}) {
      if (!std::filesystem::exists(writer->PathOf(name))) continue;
      return absl::InvalidArgumentError(absl::StrCat(writer->PathOf(name), " is there without ",
                                                     layout::kInfo, ": name another folder"));
    }
    SCANLINE_RETURN_IF_ERROR(writer->MakeEmpty(wanted, 1));
    return writer;
  }
  // A folder that says it holds an index can be rebuilt, however damaged it is.
  if (options.rebuild) {
    const int64_t generation = state.ok() ? state->info.generation + 1 : 1;
    SCANLINE_RETURN_IF_ERROR(writer->FinishReplacing());
    SCANLINE_RETURN_IF_ERROR(writer->MakeEmpty(wanted, generation));
    return writer;
  }
  if (!state.ok()) return state.status();
  const std::string why = WhyNotSameIndex(state->info, wanted);
  if (!why.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder, " was ", why, ": name another folder, or --rebuild to send all files again"));
  }
  SCANLINE_RETURN_IF_ERROR(writer->FinishReplacing());
  writer->info_ = state->info;
  SCANLINE_RETURN_IF_ERROR(writer->LoadFiles());
  SCANLINE_RETURN_IF_ERROR(writer->OpenForAppending());
  return writer;
}

std::string IndexWriter::PathOf(const char* name) const { return layout::PathOf(folder_, name); }

void IndexWriter::Step() const {
  if (options_.before_step) options_.before_step();
}

absl::Status IndexWriter::Lock() {
  const std::string path = PathOf(layout::kLock);
  lock_ = OwnedFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.ok()) return FileError("write", path);
  return flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 ? absl::OkStatus() : Busy(folder_);
}

// Gives files that replace.json has committed their names; others were never committed.
absl::Status IndexWriter::FinishReplacing() {
  const bool committed = std::filesystem::exists(PathOf(layout::kReplace));
  for (const char* name : {layout::kRows, layout::kItems}) {
    const std::string next = PathOf(name) + layout::kNext;
    if (!std::filesystem::exists(next)) continue;
    Step();
    if (committed) {
      SCANLINE_RETURN_IF_ERROR(Rename(next, PathOf(name)));
    } else if (unlink(next.c_str()) != 0) {
      return FileError("remove", next);
    }
  }
  if (!committed) return absl::OkStatus();
  SCANLINE_RETURN_IF_ERROR(SyncFolder(folder_));
  Step();
  SCANLINE_RETURN_IF_ERROR(Rename(PathOf(layout::kReplace), PathOf(layout::kInfo)));
  return SyncFolder(folder_);
}

absl::Status IndexWriter::Replace(const IndexInfo& info) {
  SCANLINE_RETURN_IF_ERROR(SyncFolder(folder_));
  Step();
  SCANLINE_RETURN_IF_ERROR(ReplaceFile(PathOf(layout::kReplace), IndexInfoJson(info)));
  SCANLINE_RETURN_IF_ERROR(SyncFolder(folder_));
  info_ = info;
  return FinishReplacing();
}

absl::Status IndexWriter::MakeEmpty(const IndexInfo& wanted, int64_t generation) {
  IndexInfo info = wanted;
  info.count = 0;
  info.normalised = true;
  info.created = absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone());
  info.generation = generation;
  Step();
  SCANLINE_RETURN_IF_ERROR(
      ReplaceFile(PathOf(layout::kRows) + layout::kNext, NpyHeader(0, info.dim)));
  Step();
  SCANLINE_RETURN_IF_ERROR(ReplaceFile(PathOf(layout::kItems) + layout::kNext, ""));
  SCANLINE_RETURN_IF_ERROR(Replace(info));
  files_.clear();
  return OpenForAppending();
}

absl::Status IndexWriter::LoadFiles() {
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, IndexReader::Open(folder_));
  items_bytes_ = 0;
  absl::string_view before;
  for (int64_t row = 0; row < info_.count; ++row) {
    SCANLINE_ASSIGN_OR_RETURN(const absl::string_view line, reader->LineAt(row));
    items_bytes_ += line.size() + 1;
    if (AreOfOneFile(line, before)) {
      ++files_.back().rows;
    } else {
      SCANLINE_ASSIGN_OR_RETURN(const Item item, reader->ItemAt(row));
      AddMoment(item, row, files_);
    }
    before = line;
  }
  return absl::OkStatus();
}

// Cuts off what no Commit has made part of the index.
absl::Status IndexWriter::OpenForAppending() {
  const std::string rows = PathOf(layout::kRows);
  const std::string items = PathOf(layout::kItems);
  if (info_.count == 0) items_bytes_ = 0;
  rows_ = OwnedFd(open(rows.c_str(), O_RDWR | O_CLOEXEC));
  if (!rows_.ok()) return FileError("write", rows);
  items_ = OwnedFd(open(items.c_str(), O_RDWR | O_CLOEXEC));
  if (!items_.ok()) return FileError("write", items);
  const uint64_t row_bytes = static_cast<uint64_t>(info_.dim) * sizeof(float);
  Step();
  SCANLINE_RETURN_IF_ERROR(WriteAt(rows_.get(), NpyHeader(info_.count, info_.dim), 0, rows));
  Step();
  SCANLINE_RETURN_IF_ERROR(Truncate(
      rows_.get(), kNpyHeaderBytes + static_cast<uint64_t>(info_.count) * row_bytes, rows));
  Step();
  return Truncate(items_.get(), items_bytes_, items);
}

absl::Status IndexWriter::Append(absl::Span<const Item> items, absl::Span<const float> rows) {
  const auto dim = static_cast<size_t>(info_.dim);
  SCANLINE_CHECK(!items.empty() && rows.size() == items.size() * dim);
  int64_t row = info_.count;
  for (const IndexedFile& file : new_files_) row += file.rows;
  new_files_.push_back({items[0].file, items[0].sha256, row, static_cast<int64_t>(items.size())});
  for (size_t i = 0; i < items.size(); ++i) {
    SCANLINE_CHECK(items[i].file == items[0].file && items[i].sha256 == items[0].sha256);
    absl::StrAppend(&new_items_, ItemLine(items[i]), "\n");
    new_normalised_ = new_normalised_ && IsUnit(rows.subspan(i * dim, dim));
  }
  new_rows_.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
  return absl::OkStatus();
}

absl::Status IndexWriter::Commit() {
  if (new_files_.empty()) return absl::OkStatus();
  const int64_t began = absl::GetCurrentTimeNanos();
  const std::string rows = PathOf(layout::kRows);
  const std::string items = PathOf(layout::kItems);
  IndexInfo info = info_;
  for (const IndexedFile& file : new_files_) info.count += file.rows;
  info.normalised = info.normalised && new_normalised_;
  const uint64_t rows_end = kNpyHeaderBytes + static_cast<uint64_t>(info_.count) *
                                                  static_cast<uint64_t>(info_.dim) * sizeof(float);
  Step();
  SCANLINE_RETURN_IF_ERROR(WriteAt(rows_.get(), new_rows_, rows_end, rows));
  Step();
  SCANLINE_RETURN_IF_ERROR(WriteAt(items_.get(), new_items_, items_bytes_, items));
  // The header last of the three, so that NumPy finds a line for each of its rows at any moment.
  Step();
  SCANLINE_RETURN_IF_ERROR(WriteAt(rows_.get(), NpyHeader(info.count, info.dim), 0, rows));
  SCANLINE_RETURN_IF_ERROR(SyncData(rows_.get(), rows));
  SCANLINE_RETURN_IF_ERROR(SyncData(items_.get(), items));
  Step();
  SCANLINE_RETURN_IF_ERROR(ReplaceFile(PathOf(layout::kInfo), IndexInfoJson(info)));
  info_ = info;
  items_bytes_ += new_items_.size();
  files_.insert(files_.end(), new_files_.begin(), new_files_.end());
  new_rows_.clear();
  new_items_.clear();
  new_files_.clear();
  committed_at_ns_ = absl::GetCurrentTimeNanos();
  commit_took_ns_ = committed_at_ns_ - began;
  return absl::OkStatus();
}

absl::Status IndexWriter::CommitIfCheap() {
  const int64_t passed = absl::GetCurrentTimeNanos() - committed_at_ns_;
  return passed >= (kCommitShare - 1) * commit_took_ns_ ? Commit() : absl::OkStatus();
}

absl::Status IndexWriter::WriteKeptRows(const std::vector<IndexedFile>& kept) {
  const std::string path = PathOf(layout::kRows);
  const std::string next = path + layout::kNext;
  SCANLINE_ASSIGN_OR_RETURN(const FileView from, FileView::Open(path));
  Step();
  const OwnedFd to(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!to.ok()) return FileError("write", next);
  const size_t row_bytes = static_cast<size_t>(info_.dim) * sizeof(float);
  int64_t rows = 0;
  uint64_t at = kNpyHeaderBytes;
  for (size_t i = 0; i < kept.size();) {
    // Files beside one another go in one piece.
    const int64_t first = kept[i].first_row;
    int64_t end = first;
    for (; i < kept.size() && kept[i].first_row == end; ++i) end += kept[i].rows;
    absl::string_view piece =
        from.bytes().substr(kNpyHeaderBytes + static_cast<size_t>(first) * row_bytes,
                            static_cast<size_t>(end - first) * row_bytes);
    rows += end - first;
    for (; !piece.empty(); piece.remove_prefix(std::min(kCopyBytes, piece.size()))) {
      const absl::string_view step = piece.substr(0, kCopyBytes);
      SCANLINE_RETURN_IF_ERROR(WriteAt(to.get(), step, at, next));
      at += step.size();
    }
  }
  SCANLINE_RETURN_IF_ERROR(WriteAt(to.get(), NpyHeader(rows, info_.dim), 0, next));
  return SyncData(to.get(), next);
}

absl::Status IndexWriter::WriteKeptItems(const std::vector<IndexedFile>& kept) {
  const std::string next = PathOf(layout::kItems) + layout::kNext;
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, IndexReader::Open(folder_));
  Step();
  const OwnedFd to(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!to.ok()) return FileError("write", next);
  std::string text;
  uint64_t at = 0;
  const auto flush = [&]() -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(WriteAt(to.get(), text, at, next));
    at += text.size();
    text.clear();
    return absl::OkStatus();
  };
  auto was = files_.begin();
  for (const IndexedFile& file : kept) {
    while (was->first_row != file.first_row) ++was;
    for (int64_t row = file.first_row; row < file.first_row + file.rows; ++row) {
      SCANLINE_ASSIGN_OR_RETURN(const absl::string_view line, reader->LineAt(row));
      if (was->stamp == file.stamp) {
        absl::StrAppend(&text, line, "\n");
      } else {
        SCANLINE_ASSIGN_OR_RETURN(Item item, reader->ItemAt(row));
        item.file = file.stamp;
        absl::StrAppend(&text, ItemLine(item), "\n");
      }
      if (text.size() >= kCopyBytes) SCANLINE_RETURN_IF_ERROR(flush());
    }
  }
  SCANLINE_RETURN_IF_ERROR(flush());
  items_bytes_ = at;
  return SyncData(to.get(), next);
}

absl::Status IndexWriter::Rewrite(std::vector<IndexedFile> kept) {
  SCANLINE_RETURN_IF_ERROR(Commit());
  IndexInfo info = info_;
  ++info.generation;
  info.count = 0;
  for (const IndexedFile& file : kept) info.count += file.rows;
  if (info.count != info_.count) SCANLINE_RETURN_IF_ERROR(WriteKeptRows(kept));
  SCANLINE_RETURN_IF_ERROR(WriteKeptItems(kept));
  SCANLINE_RETURN_IF_ERROR(Replace(info));
  int64_t row = 0;
  for (IndexedFile& file : kept) {
    file.first_row = row;
    row += file.rows;
  }
  files_ = std::move(kept);
  return OpenForAppending();
}

absl::Status IndexWriter::Discard() {
  SCANLINE_CHECK(info_.count == 0 && new_files_.empty());
  // The info after the rows: without it they would be files of something else.
  for (const char* name :
       {layout::kSkipped, layout::kRows, layout::kItems, layout::kInfo, layout::kLock}) {
    Step();
    const std::string path = PathOf(name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return FileError("remove", path);
  }
  rmdir(folder_.c_str());  // Fails where it holds anything else, which is then not ours.
  return absl::OkStatus();
}

}  // namespace scanline
