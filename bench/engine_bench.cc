// scanline-engine-bench: forward passes of a model on the CPU or on a GPU, timed, as one JSON line
// in the form that bench/engine.py and bench/gpu_report.py read; on request beside what the machine
// can do at most, and the error of the logits against computation in double. Exit 3: the GPU that
// was asked for is not there.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "bench/engine/line.h"
#include "bench/engine/options.h"
#include "model/cuda/cuda_backbone.h"

namespace scanline::bench {
namespace {

constexpr int kWrong = 1;
constexpr int kUsage = 2;
constexpr int kNoGpu = 3;
constexpr int kMostFrames = 10'000;  // whose tokens can be counted
constexpr int kMostClips = 10'000;

int Fail(int code, absl::string_view why) {
  std::cerr << "scanline-engine-bench: " << why << "\n";
  return code;
}

// Whether some machine has such a device.
bool IsDeviceName(const std::string& name) {
  return cuda::ChooseDevice(name, {.built = true, .devices = std::numeric_limits<int>::max()}).ok();
}

absl::StatusOr<Json> Line(const Options& options, int cuda_device) {
  if (!options.vectors.empty()) setenv("SCANLINE_REFERENCE_DIR", options.vectors.c_str(), 1);
  return cuda_device < 0 ? CpuLine(options) : GpuLine(options, cuda_device);
}

int Run(Options options) {
  if (!IsDeviceName(options.device)) {
    return Fail(kUsage,
                absl::StrCat("expected --device cpu, auto or cuda:N, found ", options.device));
  }
  const auto choice = cuda::ChooseDevice(options.device, FindCuda());
  const bool gpu = !choice.ok() || choice->cuda >= 0;  // only what names a GPU can be missing
  if (const absl::Status status = CheckOptions(options, gpu); !status.ok()) {
    return Fail(kUsage, status.message());
  }
  if (!choice.ok()) return Fail(kNoGpu, choice.status().message());
  if (!choice->note.empty()) std::cerr << choice->note << "; the CPU is used\n";
  options.device = gpu ? absl::StrCat("cuda:", choice->cuda) : "cpu";
  const auto line = Line(options, choice->cuda);
  if (!line.ok()) return Fail(kWrong, line.status().message());
  std::cout << line->dump() << "\n";
  return 0;
}

void Describe(Options& o, CLI::App* app) {
  app->add_option("--model", o.model,
                  "tiny, small, middle, base or a bundle's folder (with a /) [tiny]");
  app->add_option("--frames", o.frames, "[8, or the bundle's]")->check(CLI::Range(1, kMostFrames));
  app->add_option("--layers", o.layers, "of an official shape; the rest is left out")
      ->check(CLI::Range(1, 1000));
  app->add_option("--device", o.device, "cpu, cuda:N, or auto: the first GPU, if any [cpu]");
  app->add_option(
         "--precision", o.precision,
         "fp32, bf16: of the CPU's matrix products, and of a GPU's activations too; auto is "
         "fp32 on the CPU and bf16 on a GPU [auto]")
      ->check(CLI::IsMember({"auto", "fp32", "bf16"}));
  app->add_option("--batch", o.batches, "clips at once; on a GPU repeatable [1]")
      ->check(CLI::Range(1, kMostClips));
  app->add_option("--runs", o.runs, "timed passes, of each thread or batch; 0: none [5]")
      ->check(CLI::Range(0, 1000000));
  app->add_option("--check-vectors", o.vectors, "also the error against the vectors of this folder")
      ->check(CLI::ExistingDirectory);
  app->add_option("--threads", o.threads, "CPU: [2]")->check(CLI::Range(1, 1024));
  app->add_option("--path", o.path, "CPU: kernels: scalar, avx2, avx512, avx512_bf16 [auto]");
  app->add_option("--profile", o.profile, "CPU: latency, throughput or both [both]")
      ->check(CLI::IsMember({"latency", "throughput", "both"}));
  app->add_flag("--peaks", o.peaks, "CPU: also multiply-adds, bandwidth and the scan alone");
  app->add_option("--kernels", o.kernels, "GPU: also each kernel alone, for so many clips")
      ->check(CLI::Range(1, kMostClips));
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Forward passes of a model, timed, as a JSON line");
  Describe(options, &app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    return Run(options);
  } catch (const std::bad_alloc&) {
    return Fail(kWrong,
                "not enough memory; expected fewer --frames or --threads, or a smaller --model");
  } catch (const std::exception& error) {
    return Fail(kWrong, error.what());
  }
}

}  // namespace
}  // namespace scanline::bench

int main(int argc, char** argv) { return scanline::bench::Main(argc, argv); }
