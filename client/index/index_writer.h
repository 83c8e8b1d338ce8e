#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/index/files.h"
#include "client/index/index_info.h"
#include "client/index/item.h"

namespace scanline {

// A video of the index: rows [first_row, first_row + rows) are its moments.
struct IndexedFile {
  FileStamp stamp;
  std::string sha256;
  int64_t first_row = 0;
  int64_t rows = 0;

  bool operator==(const IndexedFile&) const = default;
};

// What stands in the way of writing to an index: it was made otherwise than `wanted` would make it.
// Empty: nothing. Rows of other weights compare with nothing, of other windows badly.
std::string WhyNotSameIndex(const IndexInfo& there, const IndexInfo& wanted);

struct IndexWriterOptions {
  bool rebuild = false;  // what is there is emptied
  // Before each change of a file. For tests: a process that ends in it leaves what a crash there
  // leaves.
  std::function<void()> before_step;
};

// The one writer of an index folder. Whenever it, or the machine, stops, the folder is an index:
// that of the last Commit or Rewrite (layout.h tells how). Not thread-safe.
class IndexWriter {
 public:
  // Opens the folder, or makes it with `wanted` (its count, created and generation do not matter),
  // and puts right what an earlier writer left half done. Windows of `wanted` that are 0 take those
  // that are there. Errors: FAILED_PRECONDITION where WhyNotSameIndex says something or another
  // writer is at work; INVALID_ARGUMENT for a folder of something else or a damaged index; as the
  // file system says.
  static absl::StatusOr<std::unique_ptr<IndexWriter>> Open(const std::string& folder,
                                                           const IndexInfo& wanted,
                                                           const IndexWriterOptions& options = {});

  const std::string& folder() const { return folder_; }
  const IndexInfo& info() const { return info_; }
  const std::vector<IndexedFile>& files() const { return files_; }  // by first_row

  // The moments of one file, which is not among files(): a row of `rows` [items, dim] each. They
  // count from the next Commit.
  absl::Status Append(absl::Span<const Item> items, absl::Span<const float> rows);
  absl::Status Commit();
  // Commits unless that would let commits take more than a tenth of the time.
  absl::Status CommitIfCheap();

  // Makes `kept` the whole index: some of files(), in their order, whose stamps may be new. Costs a
  // copy of all rows where any go, of the items where only stamps change. Commits.
  absl::Status Rewrite(std::vector<IndexedFile> kept);

  // Removes the index, which has no rows, and its folder where nothing else is in it. The last
  // call.
  absl::Status Discard();

 private:
  IndexWriter(std::string folder, IndexWriterOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {}

  std::string PathOf(const char* name) const;
  void Step() const;
  absl::Status Lock();
  absl::Status FinishReplacing();
  absl::Status MakeEmpty(const IndexInfo& wanted, int64_t generation);
  absl::Status LoadFiles();
  absl::Status OpenForAppending();
  absl::Status WriteKeptRows(const std::vector<IndexedFile>& kept);
  absl::Status WriteKeptItems(const std::vector<IndexedFile>& kept);
  // Makes the NAME.next that are there and `info` the index.
  absl::Status Replace(const IndexInfo& info);

  const std::string folder_;
  const IndexWriterOptions options_;
  OwnedFd lock_;
  OwnedFd rows_;
  OwnedFd items_;
  uint64_t items_bytes_ = 0;  // of the lines that count
  IndexInfo info_;
  std::vector<IndexedFile> files_;
  std::string new_rows_;   // not committed: bytes of embeddings.npy
  std::string new_items_;  // and lines of items.jsonl
  std::vector<IndexedFile> new_files_;
  bool new_normalised_ = true;
  int64_t commit_took_ns_ = 0;
  int64_t committed_at_ns_ = 0;
};

}  // namespace scanline
