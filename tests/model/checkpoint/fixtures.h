#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "tests/support/files.h"

namespace scanline::testing {

inline constexpr uint64_t kFixtureSeed = 0x5348415245440001;

// The files that make_checkpoints.py wrote.
inline std::string FixturePath(const std::string& name) {
  return SCANLINE_SOURCE_DIR "/tests/data/checkpoints/" + name;
}

inline absl::Span<const uint8_t> Span(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// A checkpoint with the bytes that it borrows.
struct OpenFixture {
  explicit OpenFixture(const std::string& name) : bytes(ReadBytes(FixturePath(name))) {
    auto opened = Checkpoint::Open(bytes);
    status = opened.status();
    if (opened.ok()) checkpoint = *std::move(opened);
  }
  std::vector<uint8_t> bytes;
  absl::Status status;
  std::unique_ptr<Checkpoint> checkpoint;
};

// The pickles of the evil files would have made it, in the folder that the test runs in.
inline constexpr char kTraceOfExecution[] = "scanline-ran-a-pickle";

}  // namespace scanline::testing
