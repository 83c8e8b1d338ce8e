#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client.h"

namespace scanline::cli {

// Hears of an upload: how many bytes have gone, and of how many (0: not known).
using OnSent = std::function<void(uint64_t sent, uint64_t total)>;

// Labels for an input, "-" being standard input: in one message where it fits, else in pieces that
// are read as they are sent, in bounded memory. A regular file is read twice then: its SHA-256 goes
// ahead. `timeout` is for all of it: for a pipe also the wait for its writer. Errors carry a
// ClientError: of the server, NO_ANSWER_IN_TIME, FILE_NOT_FOUND, FILE_EMPTY, FILE_UNREADABLE, or
// CLIP_TOO_LARGE, which is said before the bytes are read where the size is known.
absl::StatusOr<v1::ClipResult> SendClip(const std::string& input, Client& client,
                                        const v1::ServerLimits& limits,
                                        const v1::AnalysisSpec& spec, absl::Duration timeout,
                                        const OnSent& on_sent);

// What came of an input, and of which bytes.
struct DigestedAnswer {
  std::string sha256;  // of exactly the bytes that were sent, hexadecimal; "": none were
  absl::StatusOr<v1::ClipResult> result;
};

// SendClip for an answer that is kept under the SHA-256 of its bytes. The digest and the request
// read one open file. FILE_CHANGED where it did not stay as it was until the answer came, whatever
// the answer about it was; it is to be tried again.
DigestedAnswer SendDigested(const std::string& input, Client& client,
                            const v1::ServerLimits& limits, const v1::AnalysisSpec& spec,
                            absl::Duration timeout, const OnSent& on_sent);

}  // namespace scanline::cli
