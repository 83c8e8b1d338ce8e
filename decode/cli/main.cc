// scanline-decode: what a model sees of a clip. Links decode/ alone, so that a question about
// frames is answered without a server or a model.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/number_check.h"
#include "base/status_macros.h"
#include "decode/cli/frame_folder.h"
#include "decode/decode_clip.h"

namespace scanline {
namespace {

constexpr int kInputFailed = 1;
constexpr int kUsage = 2;

constexpr char kUsageText[] =
    R"(scanline-decode: the frames a model would see of a clip
usage: scanline-decode CLIP [options]     (CLIP: a file, or - for standard input)
Prints one JSON line a frame: index, pts (seconds), view, size. With --out also files:
frame_00.npy... (RGB, upright, full size), input.npy (resized, cropped), sheet.png.
  --out DIR          write files to DIR
  --rule NAME        uniform k400_sparse k400_dense ssv2 middle ava window    [uniform]
  --count N          frames a view                                            [8]
  --views N          temporal views (k400_sparse, k400_dense, ssv2)           [1]
  --spatial-views N  crops along the long side                                [1]
  --step N           every N-th frame (k400_dense, ava)                       [1]
  --seconds S --stride S --single-up-to S   (window)                          [1 0.5 0]
  --start S --end S  look at this part of the clip only
  --size N           side of the model's picture                              [224]
  --resize NAME      short_side_bilinear square_bicubic centre_square_area
  --sar MODE         apply or ignore the pixels' aspect ratio                 [ignore]
  --allow-partial    take the good frames of a damaged clip
  --max-bytes N --max-pixels N --max-frames N --timeout S   limits
Errors are a JSON line with `reason` on standard error: exit 1 (clip), 2 (usage).
examples:
  scanline-decode clip.mp4 --count 8 --rule uniform --out frames
  scanline-decode clip.mp4 --count 16 --rule k400_sparse --views 4 --spatial-views 3
)";

struct Settings {
  std::string input;
  std::string out;
  FrameSpec spec;
  DecodeOptions options;
  double timeout_seconds = 300;
};

void PrintProblem(const std::string& kind, const std::string& reason, const std::string& message) {
  std::cerr << nlohmann::json{{kind, reason}, {"message", message}}.dump() << "\n";
}

// Nullopt: `exit_code` says how the program ends.
std::optional<Settings> ParseCommandLine(int argc, char** argv, int* exit_code) {
  Settings s;
  SamplingSpec& sampling = s.spec.sampling;
  sampling.window_seconds = 1;
  sampling.stride_seconds = 0.5;
  s.options.limits.max_bytes = int64_t{2} << 30;
  bool apply_aspect = false, help = false, version = false;
  std::optional<double> end;
  const std::map<std::string, SamplingRule> rules = {
      {"uniform", SamplingRule::kUniform},      {"k400_sparse", SamplingRule::kK400Sparse},
      {"k400_dense", SamplingRule::kK400Dense}, {"ssv2", SamplingRule::kSsv2},
      {"middle", SamplingRule::kMiddle},        {"ava", SamplingRule::kAva},
      {"window", SamplingRule::kWindow}};
  const std::map<std::string, ResizeRule> resizes = {
      {"short_side_bilinear", ResizeRule::kShortSideBilinear},
      {"square_bicubic", ResizeRule::kSquareBicubic},
      {"centre_square_area", ResizeRule::kCentreSquareArea}};
  const std::map<std::string, bool> aspects = {{"apply", true}, {"ignore", false}};

  const auto seconds = RangeCheck("seconds", 0, 1e9);
  const auto limit = RangeCheck("a number", 1, 1e12);
  CLI::App app;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  app.add_flag("--version", version);
  app.add_option("CLIP", s.input);
  app.add_option("--out", s.out);
  app.add_option("--rule", sampling.rule)->transform(CLI::CheckedTransformer(rules));
  app.add_option("--count", sampling.frames);
  app.add_option("--views", sampling.temporal_views);
  app.add_option("--spatial-views", s.spec.spatial_views);
  app.add_option("--step", sampling.frame_step);
  app.add_option("--seconds", sampling.window_seconds)->check(seconds);
  app.add_option("--stride", sampling.stride_seconds)->check(seconds);
  app.add_option("--single-up-to", sampling.single_up_to_seconds)->check(seconds);
  app.add_option("--start", sampling.start_seconds)->check(seconds);
  app.add_option("--end", end)->check(seconds);
  app.add_option("--size", s.spec.size);
  app.add_option("--resize", s.spec.resize)->transform(CLI::CheckedTransformer(resizes));
  app.add_option("--sar", apply_aspect)->transform(CLI::CheckedTransformer(aspects));
  app.add_flag("--allow-partial", s.options.allow_partial);
  app.add_option("--max-bytes", s.options.limits.max_bytes)->check(limit);
  app.add_option("--max-pixels", s.options.limits.max_pixels)->check(limit);
  app.add_option("--max-frames", s.options.limits.max_frames)->check(limit);
  app.add_option("--timeout", s.timeout_seconds)->check(seconds);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    PrintProblem("reason", "USAGE", std::string(error.what()) + "; see scanline-decode --help");
    *exit_code = kUsage;
    return std::nullopt;
  }
  if (help || version) {
    std::cout << (help ? kUsageText : "scanline-decode " SCANLINE_VERSION "\n");
    *exit_code = 0;
    return std::nullopt;
  }
  if (s.input.empty()) {
    PrintProblem("reason", "USAGE", "name a clip; see scanline-decode --help");
    *exit_code = kUsage;
    return std::nullopt;
  }
  sampling.end_seconds = end;
  s.spec.apply_sample_aspect = apply_aspect;
  return s;
}

// At most one byte more than `max_bytes`, which the decoder then refuses.
absl::StatusOr<std::vector<uint8_t>> ReadInput(const std::string& path, int64_t max_bytes) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) return absl::NotFoundError("cannot open " + path);
  std::vector<uint8_t> bytes;
  constexpr int64_t kChunk = 1 << 20;
  while (in && static_cast<int64_t>(bytes.size()) <= max_bytes) {
    const size_t had = bytes.size();
    bytes.resize(had + std::min(kChunk, max_bytes + 1 - static_cast<int64_t>(had)));
    in.read(reinterpret_cast<char*>(bytes.data() + had),
            static_cast<std::streamsize>(bytes.size() - had));
    bytes.resize(had + in.gcount());
  }
  if (in.bad() || (bytes.empty() && !in.eof())) return absl::NotFoundError("cannot read " + path);
  return bytes;
}

// To the microsecond: 3.28, not 3.2800000000000002.
double Micros(double seconds) { return std::round(seconds * 1e6) / 1e6; }

void PrintFrames(const Clip& clip, bool with_files) {
  size_t place = 0;
  for (const View& view : clip.views) {
    if (view.spatial_view != 0) continue;  // the same frames
    for (const int picture : view.pictures) {
      const SampledFrame& frame = clip.sampled[picture / clip.spatial_views];
      nlohmann::ordered_json line;
      line["index"] = frame.index;
      line["pts"] = Micros(frame.seconds.value());
      line["window"] = view.window;
      line["view"] = view.temporal_view;
      line["corrupt"] = frame.corrupt;
      line["width"] = clip.source.width;
      line["height"] = clip.source.height;
      line["frames"] = clip.source.frames;
      if (with_files) line["file"] = FrameFolder::FrameName(place);
      ++place;
      std::cout << line.dump() << "\n";
    }
  }
}

absl::Status Run(const Settings& settings) {
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                            ReadInput(settings.input, settings.options.limits.max_bytes));
  const Cancel cancel(absl::Now() + absl::Seconds(settings.timeout_seconds));
  const bool with_files = !settings.out.empty();
  FrameFolder folder(settings.out);
  std::function<absl::Status(const FullFrame&)> watch;
  if (with_files) {
    SCANLINE_RETURN_IF_ERROR(folder.Create());
    watch = [&](const FullFrame& frame) { return folder.Keep(frame); };
  }
  SCANLINE_ASSIGN_OR_RETURN(
      const Clip clip, DecodeClipWatched(bytes, settings.spec, settings.options, cancel, watch));
  if (with_files) SCANLINE_RETURN_IF_ERROR(folder.Finish(clip));
  for (const Notice& notice : clip.notices) PrintProblem("warning", notice.reason, notice.message);
  PrintFrames(clip, with_files);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  int exit_code = 0;
  const auto settings = ParseCommandLine(argc, argv, &exit_code);
  if (!settings) return exit_code;
  const absl::Status status = Run(*settings);
  if (status.ok()) return 0;
  const auto reason = ReasonOf(status);
  PrintProblem("reason", reason ? std::string(ReasonName(*reason)) : "FILE_ERROR",
               std::string(status.message()));
  // A setting that cannot be meant is a usage error, although the decoder found it.
  return reason == Reason::kFieldInvalid ? kUsage : kInputFailed;
}

}  // namespace
}  // namespace scanline

int main(int argc, char** argv) { return scanline::Main(argc, argv); }
