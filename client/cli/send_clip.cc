#include "client/cli/send_clip.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "client/cli/clip_file.h"
#include "client/cli/exit_code.h"
#include "client/cli/local_error.h"

namespace scanline::cli {
namespace {

constexpr size_t kStep = 1 << 20;

// Up to `most` bytes: fewer only at the end of the file.
absl::StatusOr<std::string> ReadUpTo(ClipFile& file, uint64_t most) {
  std::string bytes;
  while (bytes.size() < most) {
    const size_t had = bytes.size();
    bytes.resize(had + static_cast<size_t>(std::min<uint64_t>(kStep, most - had)));
    SCANLINE_ASSIGN_OR_RETURN(const size_t count,
                              file.Read(bytes.data() + had, bytes.size() - had));
    bytes.resize(had + count);
    if (count == 0) break;
  }
  return bytes;
}

// `head` first, then the rest of the file; a pipe may turn out too long on the way.
UploadBytes BytesOf(ClipFile& file, absl::string_view head, const v1::ServerLimits& limits) {
  UploadBytes bytes;
  uint64_t total = 0;
  bytes.read = [&file, head, limits, total](char* out,
                                            size_t size) mutable -> absl::StatusOr<size_t> {
    size_t count = std::min(size, head.size());
    std::copy_n(head.data(), count, out);
    head.remove_prefix(count);
    if (count == 0) {
      SCANLINE_ASSIGN_OR_RETURN(count, file.Read(out, size));
    }
    total += count;
    SCANLINE_RETURN_IF_ERROR(CheckUploadSize(total, limits));
    return count;
  };
  return bytes;
}

ClipFile::GoOn Until(absl::Time deadline, absl::Duration timeout, Client& client) {
  return [&client, deadline, timeout]() -> absl::Status {
    if (client.cancelled()) return absl::CancelledError("interrupted");
    if (absl::Now() < deadline) return absl::OkStatus();
    return MakeClientError(
        absl::StatusCode::kDeadlineExceeded, kNoAnswerInTime,
        absl::StrCat("not read to its end within ", absl::FormatDuration(timeout)));
  };
}

std::string Hex(absl::string_view bytes) {
  Digest digest;
  digest.Add(bytes);
  return absl::BytesToHexString(digest.Finish());
}

// `sha256`, unless null: of the bytes of a request, as soon as they are known.
absl::StatusOr<v1::ClipResult> Send(ClipFile& file, Client& client, const v1::ServerLimits& limits,
                                    const v1::AnalysisSpec& spec, absl::Time deadline,
                                    const OnSent& on_sent, std::string* sha256) {
  const uint64_t size = file.size().value_or(0);
  SCANLINE_RETURN_IF_ERROR(CheckUploadSize(size, limits));
  // A server that tells no limit takes everything in one message, or says that it does not.
  const uint64_t told = limits.max_inline_bytes();
  const uint64_t most = told != 0 ? told : std::numeric_limits<uint64_t>::max() - 1;
  std::string head;
  if (size <= most) {
    SCANLINE_ASSIGN_OR_RETURN(head, ReadUpTo(file, most + 1));
    if (head.empty()) {
      return MakeClientError(absl::StatusCode::kFailedPrecondition, kFileEmpty,
                             "the file is empty");
    }
    if (head.size() <= most) {
      if (sha256 != nullptr) *sha256 = Hex(head);
      return client.Classify(std::move(head), spec, deadline - absl::Now());
    }
    SCANLINE_RETURN_IF_ERROR(CheckUploadSize(head.size(), limits));
  }
  UploadBytes bytes = BytesOf(file, head, limits);
  if (head.empty()) {  // a regular file of a known size
    bytes.size = size;
    SCANLINE_ASSIGN_OR_RETURN(bytes.sha256, DigestOf(file));
    if (sha256 != nullptr) *sha256 = absl::BytesToHexString(bytes.sha256);
    bytes.rewind = [&file, &bytes, &limits] {
      bytes.read = BytesOf(file, "", limits).read;
      return file.Rewind();
    };
  } else {  // a pipe: its size is known at its end
    bytes.read = [read = std::move(bytes.read), &on_sent, sent = uint64_t{0}](
                     char* out, size_t room) mutable -> absl::StatusOr<size_t> {
      SCANLINE_ASSIGN_OR_RETURN(const size_t count, read(out, room));
      sent += count;
      if (count == 0 && on_sent) on_sent(sent, sent);
      return count;
    };
  }
  return client.Upload(bytes, spec, deadline - absl::Now(), [&](uint64_t sent) {
    if (on_sent) on_sent(sent, bytes.size);
  });
}

}  // namespace

absl::StatusOr<v1::ClipResult> SendClip(const std::string& input, Client& client,
                                        const v1::ServerLimits& limits,
                                        const v1::AnalysisSpec& spec, absl::Duration timeout,
                                        const OnSent& on_sent) {
  const absl::Time deadline = absl::Now() + timeout;
  SCANLINE_ASSIGN_OR_RETURN(ClipFile file, ClipFile::Open(input, Until(deadline, timeout, client)));
  return Send(file, client, limits, spec, deadline, on_sent, nullptr);
}

DigestedAnswer SendDigested(const std::string& input, Client& client,
                            const v1::ServerLimits& limits, const v1::AnalysisSpec& spec,
                            absl::Duration timeout, const OnSent& on_sent) {
  const absl::Time deadline = absl::Now() + timeout;
  auto file = ClipFile::Open(input, Until(deadline, timeout, client));
  if (!file.ok()) return {"", file.status()};
  std::string sha256;
  auto result = Send(*file, client, limits, spec, deadline, on_sent, &sha256);
  // A server that is gone or refuses everybody says nothing about the file.
  if (result.ok() || ExitCodeOf(ErrorOf(result.status())) == kExitInputFailed) {
    if (absl::Status unchanged = file->CheckUnchanged(); !unchanged.ok()) result = unchanged;
  }
  return {std::move(sha256), std::move(result)};
}

}  // namespace scanline::cli
