#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/person/anchors.h"
#include "model/person/nms.h"
#include "model/person/person_box.h"
#include "model/person/rgb_picture.h"
#include "model/person/ssdlite.h"

namespace scanline {

class Weights;

struct PersonOptions {
  float min_score = 0.3F;  // a person needs more
  float max_iou = 0;       // of two people; 0: the detector's own (0.6)
  int max_people = 100;    // best first
  // Looks at four overlapping parts of the picture too, where those who are far away are larger:
  // five runs of the network instead of one.
  bool closer = true;
};

// Finds people in a picture: docs/models.md, "Person detector". Its weights are made by
// `./dev setup` from a package and are not in the repository; who gives boxes does not need it.
class PersonDetector {
 public:
  // Where `./dev setup` puts it: $SCANLINE_CACHE, or scanline/ in $XDG_CACHE_HOME or ~/.cache.
  static std::string DefaultFolder();

  // Of a folder with config.json and model.safetensors (model/person/convert_frozen_graph.py).
  // BUNDLE_INVALID says what is missing or wrong; weights that are not those that config.json names
  // by their SHA-256 are refused.
  static absl::StatusOr<std::unique_ptr<PersonDetector>> Load(const std::string& folder);

  // People, best first; boxes lie within [0, 1] and are not empty. Runs on the CPU in the calling
  // thread and the threads that UseThreads() gave it; the same picture gives the same bits whatever
  // came before. FIELD_INVALID for a picture without pixels; INTERNAL where Torch fails.
  absl::StatusOr<std::vector<PersonBox>> Detect(const RgbPicture& picture,
                                                const PersonOptions& options) const;

  // One box an anchor, as the network says it: neither clipped nor suppressed.
  absl::StatusOr<std::vector<PersonBox>> DetectRaw(const RgbPicture& picture) const;

 private:
  PersonDetector(const Weights& weights, const std::vector<AnchorLayer>& layers, BoxCoder coder,
                 float max_iou);

  // What Detect() finds in one look at `picture`.
  absl::StatusOr<std::vector<PersonBox>> Look(const RgbPicture& picture,
                                              const SuppressOptions& options) const;

  Ssdlite network_;
  std::vector<Anchor> anchors_;
  BoxCoder coder_;
  float max_iou_;
};

}  // namespace scanline
