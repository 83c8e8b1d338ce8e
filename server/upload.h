#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/cancel.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "decode/byte_input.h"
#include "server/upload_budget.h"

namespace scanline {

// What the start of an upload says of its bytes.
struct UploadClaim {
  int64_t bytes = 0;   // 0: not said
  std::string sha256;  // 32 bytes; empty: not said
};

// An error, for who runs the server, where `folder` cannot hold an upload's temporary file.
absl::Status CheckSpillFolder(const std::string& folder);

// The bytes of one clip while they arrive: in memory, and past a limit in a file that has no name,
// which ends with the process however that ends. One thread writes (Append, End) while another
// reads; both sides may be ended by Fail. Thread-safe.
class Upload final : public ByteInput {
 public:
  // `budget` is borrowed. `cancel` ends a reader's waiting; call Wake after raising it.
  Upload(UploadClaim claim, const Cancel& cancel, UploadBudget* budget);
  ~Upload() override;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // Whether the next bytes may be asked for: see UploadBudget::MayReceive.
  bool MayReceive(UploadBudget::OnRoom on_room);
  // Errors, after which the upload has failed: CLIP_TOO_LARGE, CHECKSUM_MISMATCH (more bytes than
  // claimed), UPLOAD_STORAGE (no room for the file).
  absl::Status Append(absl::string_view bytes);
  // All have come. Error: CHECKSUM_MISMATCH.
  absl::Status End();
  // Ends it, whatever comes after; the first of several counts. What it keeps is freed.
  void Fail(const absl::Status& why);
  void Wake();

  // For the reader. Errors: why the upload failed, CANCELLED, EXPIRED_IN_DECODE.
  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) override;
  absl::StatusOr<int64_t> Size() override;
  absl::StatusOr<bool> Reaches(int64_t bytes) override;
  bool Arriving() const override { return !all_came(); }
  // Nothing more will be read: what is kept is freed, and what still comes is only checked.
  void Discard();
  // Whether the sender kept its claim. Waits for the end.
  absl::Status AwaitVerdict();

  absl::Status failure() const;   // OK while it has not failed
  bool all_came() const;          // ended, or as many bytes as were claimed
  int64_t received() const;       // bytes
  absl::Duration waited() const;  // that the reader stood still for bytes that had not come
  bool spilled() const;           // into its file

 private:
  struct File;
  using Block = std::shared_ptr<uint8_t[]>;  // shared with a spill that is under way
  struct Kept {
    int64_t memory_bytes = 0;
    int64_t file_bytes = 0;
  };
  static constexpr int64_t kBlockBytes = 256 << 10;

  bool keeps() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !discarded_ && failure_.ok(); }
  absl::Status Store(absl::string_view bytes);
  absl::string_view StoreInMemory(absl::string_view bytes);  // what did not fit
  absl::Status Spill();
  Kept TakeKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveBack(const Kept& kept);
  // Waits until the byte before `bytes` has come or the end is known.
  absl::Status Await(int64_t bytes, MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const UploadClaim claim_;
  const Cancel cancel_;
  UploadBudget* const budget_;
  const int64_t number_;  // in the budget
  Digest digest_;         // the writer's

  mutable Mutex mu_;
  CondVar changed_;
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);   // the bytes, while file_ is null
  std::shared_ptr<File> file_ ABSL_GUARDED_BY(mu_);  // shared with the writer or reader at work
  int64_t stored_ ABSL_GUARDED_BY(mu_) = 0;          // the writer's place
  int64_t file_held_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t received_ ABSL_GUARDED_BY(mu_) = 0;  // the reader's
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool discarded_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  absl::Duration waited_ ABSL_GUARDED_BY(mu_);
};

}  // namespace scanline
