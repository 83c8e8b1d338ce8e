#pragma once

#include <string>

#include "model/checkpoint/architecture.h"
#include "model/checkpoint/label_list.h"

namespace scanline {

// How a bundle is to be used, beyond what its weights say.
struct BundleUse {
  std::string rule;  // of sampling
  int temporal_views = 0;
  int spatial_views = 0;
};

// The official test setting. Of classifiers it is that of the data set that the labels are of:
// Something-Something V2 2 x 3 views by its own rule, all else 4 x 3 views by `k400_sparse`; of
// multimodal models one view by `middle`, of detectors one round each second by `ava`. Values of
// `wanted` that are set win.
BundleUse UseFor(const Architecture& architecture, const LabelList& labels,
                 const BundleUse& wanted);

struct BundleFacts {
  std::string name;
  std::string license;
  std::string weights_sha256;
  std::string source_file;  // without folder
  std::string source_sha256;
  std::string source_note;  // one line
  uint64_t parameters = 0;
};

// config.json (docs/models.md) and the beginning of a model card.
std::string ConfigText(const Architecture& architecture, const LabelList& labels,
                       const BundleUse& use, const BundleFacts& facts);
std::string CardText(const Architecture& architecture, const LabelList& labels,
                     const BundleUse& use, const BundleFacts& facts);

}  // namespace scanline
