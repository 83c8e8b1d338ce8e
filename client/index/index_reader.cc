#include "client/index/index_reader.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/index/layout.h"
#include "client/index/npy.h"

namespace scanline {
namespace {

using index_layout::PathOf;

constexpr int kTries = 100;  // A writer replaces its files seldom, and takes moments for it.

absl::StatusOr<FileView> MapPart(const std::string& folder, const char* name, bool replacing) {
  const std::string path = PathOf(folder, name);
  if (replacing) {
    auto next = FileView::Open(path + index_layout::kNext);
    if (!absl::IsNotFound(next.status())) return next;
  }
  return FileView::Open(path);
}

}  // namespace

absl::StatusOr<IndexInfo> ReadIndexInfo(const std::string& folder) {
  SCANLINE_ASSIGN_OR_RETURN(index_layout::State state, index_layout::ReadState(folder));
  return std::move(state.info);
}

absl::StatusOr<std::unique_ptr<IndexReader>> IndexReader::Open(const std::string& folder) {
  for (int tries = 0;; ++tries) {
    SCANLINE_ASSIGN_OR_RETURN(const index_layout::State before, index_layout::ReadState(folder));
    std::unique_ptr<IndexReader> reader(new IndexReader);
    reader->folder_ = folder;
    reader->info_ = before.info;
    const absl::Status mapped = reader->Map(folder, before.replacing);
    SCANLINE_ASSIGN_OR_RETURN(const index_layout::State after, index_layout::ReadState(folder));
    // Rows that came meanwhile stand behind those that count here.
    const bool same = before.info.generation == after.info.generation &&
                      before.info.created == after.info.created &&
                      before.replacing == after.replacing;
    if (!same && tries < kTries) continue;
    if (!mapped.ok()) return mapped;
    return reader;
  }
}

absl::Status IndexReader::Map(const std::string& folder, bool replacing) {
  SCANLINE_ASSIGN_OR_RETURN(rows_file_, MapPart(folder, index_layout::kRows, replacing));
  SCANLINE_ASSIGN_OR_RETURN(items_file_, MapPart(folder, index_layout::kItems, replacing));
  const absl::string_view bytes = rows_file_.bytes();
  const auto shape = ParseNpyHeader(bytes);
  const std::string path = PathOf(folder, index_layout::kRows);
  if (!shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", shape.status().message()));
  }
  const auto dim = static_cast<uint64_t>(info_.dim);
  const auto count = static_cast<uint64_t>(info_.count);
  const uint64_t there = (bytes.size() - shape->data_at) / (dim * sizeof(float));
  if (shape->dim != info_.dim || there < count || shape->data_at % alignof(float) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " holds ", there, " rows of ", shape->dim,
                                                   " numbers; ", index_layout::kInfo, " says ",
                                                   count, " of ", dim));
  }
  rows_ = {reinterpret_cast<const float*>(bytes.data() + shape->data_at), count * dim};
  return absl::OkStatus();
}

absl::Status IndexReader::FindLines() const {
  const auto count = static_cast<size_t>(info_.count);
  if (line_ends_.size() == count) return absl::OkStatus();
  const absl::string_view text = items_file_.bytes();
  std::vector<uint64_t> ends;
  ends.reserve(count);
  for (size_t at = 0; ends.size() < count;) {
    const void* end =
        at < text.size() ? std::memchr(text.data() + at, '\n', text.size() - at) : nullptr;
    if (end == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(PathOf(folder_, index_layout::kItems), " has ",
                                                     ends.size(), " lines; ", index_layout::kInfo,
                                                     " says ", count));
    }
    at = static_cast<size_t>(static_cast<const char*>(end) - text.data()) + 1;
    ends.push_back(at);
  }
  line_ends_ = std::move(ends);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> IndexReader::LineAt(int64_t row) const {
  const MutexLock lock(mu_);
  SCANLINE_RETURN_IF_ERROR(FindLines());
  const auto i = static_cast<size_t>(row);
  const uint64_t begin = i == 0 ? 0 : line_ends_[i - 1];
  return items_file_.bytes().substr(begin, line_ends_[i] - 1 - begin);
}

absl::StatusOr<Item> IndexReader::ItemAt(int64_t row) const {
  SCANLINE_ASSIGN_OR_RETURN(const absl::string_view line, LineAt(row));
  auto item = ParseItem(line);
  if (!item.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(folder_, index_layout::kItems), ", line ",
                                                   row + 1, ": ", item.status().message()));
  }
  return item;
}

}  // namespace scanline
