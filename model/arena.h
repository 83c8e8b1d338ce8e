#pragma once

#include <cstddef>
#include <vector>

#include "model/weights.h"

namespace scanline {

// The memory of one worker's passes, which run one after another: each lays its pieces out from the
// start, so what one left behind is good until the next begins. It grows to the largest pass seen.
class Arena {
 public:
  // At least `floats`, from a cache line on; the content is lost. Throws std::bad_alloc, and holds
  // nothing then.
  float* Reserve(size_t floats);

  size_t floats() const { return floats_; }

 private:
  AlignedFloats memory_;
  size_t floats_ = 0;
};

// What a pass keeps in an arena: pieces side by side, each from a cache line on.
class ArenaPlan {
 public:
  // `piece` is borrowed for as long as the plan is placed.
  void Add(float** piece, size_t floats);

  size_t floats() const { return floats_; }

  // Points every piece at its place. May throw what Arena::Reserve throws.
  void Place(Arena* arena) const;

 private:
  struct Piece {
    float** at;
    size_t begin;
  };
  std::vector<Piece> pieces_;
  size_t floats_ = 0;
};

}  // namespace scanline
