#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// What index.json says: whose vectors these are, and how many of them count. See docs/retrieval.md
// for the folder's files.
struct IndexInfo {
  std::string model;           // with its version, "models/tagger24@1"
  std::string weights_sha256;  // hexadecimal; what decides whether vectors can be compared
  int dim = 0;
  int64_t count = 0;          // rows of embeddings.npy and lines of items.jsonl that count
  bool normalised = true;     // every row has length 1
  double window_seconds = 0;  // 0: the model's own
  double stride_seconds = 0;  // 0: the model's own
  std::string created;        // RFC 3339, UTC
  int64_t generation = 0;     // raised whenever rows go or move; rows that only come leave it

  bool operator==(const IndexInfo&) const = default;
};

std::string IndexInfoJson(const IndexInfo& info);

// INVALID_ARGUMENT with the key that is missing or wrong; unknown keys are left alone.
absl::StatusOr<IndexInfo> ParseIndexInfo(absl::string_view text);

}  // namespace scanline
