#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/checkpoint/bundle_text.h"
#include "model/checkpoint/plan.h"

namespace scanline {

struct ImportOptions {
  std::string file;           // .pth or .safetensors
  std::string labels;         // name of a list, or path of a file; "": a multimodal model
  std::string labels_folder;  // where the lists are
  std::string vocab;          // path of a multimodal model's vocabulary
  std::string name;           // of the model
  std::string output;         // the bundle becomes output/name
  std::string license = "not stated";
  PlanOptions plan;
  BundleUse use;
  bool force = false;  // replace another bundle of that name
  const std::atomic<bool>* stop = nullptr;
};

struct ImportReport {
  std::vector<std::string> lines;  // what was read, inferred, changed and checked, for a person
  std::string folder;              // of the bundle
  bool unchanged = false;          // it was there already
  uint64_t bytes = 0;              // of its weights
  std::string weights_sha256;
};

// Makes a bundle of a checkpoint. The folder appears whole or not at all; a second run finds it
// unchanged and writes nothing. Errors: FIELD_INVALID where the options are wrong (labels that do
// not fit, a name that is taken), BUNDLE_INVALID where the file is, CANCELLED, INTERNAL (disk).
absl::StatusOr<ImportReport> ImportCheckpoint(const ImportOptions& options);

}  // namespace scanline
