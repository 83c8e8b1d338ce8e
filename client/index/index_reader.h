#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "client/index/files.h"
#include "client/index/index_info.h"
#include "client/index/item.h"

namespace scanline {

// What the index in `folder` says of itself. NOT_FOUND: none is there. INVALID_ARGUMENT: damaged.
absl::StatusOr<IndexInfo> ReadIndexInfo(const std::string& folder);

// An index folder, open for reading: as it was at that moment, however it is written to meanwhile.
// Its vectors are mapped, not read, so opening takes no longer for a large one. Needs no right to
// write. Thread-safe.
class IndexReader {
 public:
  // NOT_FOUND: no index is there. INVALID_ARGUMENT: its files are not those of one, with the
  // reason.
  static absl::StatusOr<std::unique_ptr<IndexReader>> Open(const std::string& folder);

  const IndexInfo& info() const { return info_; }

  // [info().count, info().dim], in row order.
  absl::Span<const float> rows() const { return rows_; }

  // What row `row` is about. The first call looks for the line ends of all items.
  absl::StatusOr<Item> ItemAt(int64_t row) const;

  // The line of items.jsonl as it stands there, without its end.
  absl::StatusOr<absl::string_view> LineAt(int64_t row) const;

 private:
  IndexReader() = default;
  absl::Status Map(const std::string& folder, bool replacing);
  absl::Status FindLines() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::string folder_;
  IndexInfo info_;
  FileView rows_file_;
  FileView items_file_;
  absl::Span<const float> rows_;
  mutable Mutex mu_;
  mutable std::vector<uint64_t> line_ends_ ABSL_GUARDED_BY(mu_);  // one past the line's end
};

}  // namespace scanline
