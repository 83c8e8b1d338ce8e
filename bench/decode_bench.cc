// scanline-decode-bench: CPU seconds that DecodeClip takes for a clip, as one JSON line in the form
// of bench/decode.py. Reading the file is part of each run, as it is for the peers.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "decode/decode_clip.h"
#include "tests/support/pattern.h"

namespace scanline {
namespace {

double ProcessCpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

absl::StatusOr<Clip> DecodeFile(const std::string& path, const FrameSpec& spec) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return absl::NotFoundError("cannot read " + path);
  std::vector<uint8_t> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return DecodeClip(bytes, spec, {}, Cancel());
}

// The numbers drawn in the pictures that a model would see; -1: not readable.
std::vector<int> NumbersIn(const Clip& clip) {
  std::vector<int> numbers;
  for (const int picture : clip.views[0].pictures) {
    const auto pattern = testing::ReadPattern(clip.picture(picture), clip.width, clip.height,
                                              int64_t{clip.width} * 3, clip.height);
    numbers.push_back(pattern.ok ? pattern.number : -1);
  }
  return numbers;
}

int Main(int argc, char** argv) {
  std::string path;
  FrameSpec spec;
  spec.sampling.frames = 16;
  int runs = 3;
  CLI::App app("CPU seconds that DecodeClip takes for CLIP, best of several runs, as a JSON line");
  app.add_option("CLIP", path)->required();
  app.add_option("--frames", spec.sampling.frames, "frames, at the middles of equal segments [16]");
  app.add_option("--size", spec.size, "side of the square pictures [224]");
  app.add_option("--runs", runs, "[3]")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  std::vector<double> seconds;
  nlohmann::ordered_json line;
  for (int run = 0; run < runs; ++run) {
    const double start = ProcessCpuSeconds();
    const auto clip = DecodeFile(path, spec);
    seconds.push_back(ProcessCpuSeconds() - start);
    if (!clip.ok()) {
      std::cerr << clip.status().message() << "\n";
      return 1;
    }
    line["numbers"] = NumbersIn(*clip);
    line["frames_decoded"] = clip->stats.frames_walked;
  }
  line["cpu_s"] = seconds;
  std::cout << line.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace scanline

int main(int argc, char** argv) { return scanline::Main(argc, argv); }
