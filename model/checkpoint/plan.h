#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/checkpoint/architecture.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/label_list.h"
#include "model/checkpoint/names.h"

namespace scanline {

// A tensor of the bundle and where its values come from.
struct PlannedTensor {
  enum class From {
    kCopy,       // the source as it is
    kFirstRows,  // its first rows
    kInflated,   // 2-D patch weights as the middle slice of 3-D ones, zeros elsewhere
    kZeros,      // no source
  };
  std::string name;
  std::vector<int64_t> shape;
  From from = From::kCopy;
  size_t source = 0;  // place in Checkpoint::tensors()

  int64_t size() const;
};

struct PlanOptions {
  ArchitectureOptions architecture;
  bool drop_unexpected = false;
};

struct ImportPlan {
  Architecture architecture;
  std::vector<PlannedTensor> tensors;  // all that the bundle holds, sorted by name
  std::vector<std::string> changes;    // "head cut from 710 to its first 400 rows", ...
  std::vector<std::string> dropped;    // unexpected tensors that were let go
};

// Decides what of a checkpoint goes into a bundle with these words. BUNDLE_INVALID: missing,
// unexpected or mis-shaped tensors, in three groups. FIELD_INVALID: the labels do not fit the head,
// or the vocabulary the text tower; `labels_folder` is where lists are looked for that would.
// `file_values`: how many values the file can hold at most, which bounds what is made of it.
absl::StatusOr<ImportPlan> PlanImport(const std::vector<CheckpointTensor>& tensors,
                                      const NamedTensors& names, const WordLists& lists,
                                      const std::string& labels_folder, const PlanOptions& options,
                                      int64_t file_values);

}  // namespace scanline
