#include "model/arena.h"

namespace scanline {

float* Arena::Reserve(size_t floats) {
  if (floats > floats_) {
    memory_.reset();  // First: both together may be too much.
    floats_ = 0;
    memory_ = AllocateFloats(floats);
    floats_ = floats;
  }
  return memory_.get();
}

void ArenaPlan::Add(float** piece, size_t floats) {
  constexpr size_t kLine = 16;  // floats
  pieces_.push_back({piece, floats_});
  floats_ += (floats + kLine - 1) / kLine * kLine;
}

void ArenaPlan::Place(Arena* arena) const {
  float* memory = arena->Reserve(floats_);
  for (const Piece& piece : pieces_) *piece.at = memory + piece.begin;
}

}  // namespace scanline
