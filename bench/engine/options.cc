#include "bench/engine/options.h"

#include "absl/strings/str_cat.h"

namespace scanline::bench {
namespace {

absl::Status CheckCpu(const Options& o) {
  if (o.kernels > 0) {
    return absl::InvalidArgumentError(
        "--kernels measures those of a GPU, expected with --device cuda:N; on the CPU there is "
        "--peaks");
  }
  if (o.batches.size() > 1 || (o.batches.size() == 1 && o.batches.front() != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the CPU takes a clip at a time: expected --batch 1 or none, found ",
                     o.batches.size(), " of them, the first ", o.batches.front()));
  }
  if (o.peaks && o.runs == 0) {
    return absl::InvalidArgumentError("--peaks stand beside passes: expected --runs of 1 or more");
  }
  return absl::OkStatus();
}

absl::Status CheckGpu(const Options& o) {
  const struct {
    const char* name;
    bool given;
  } of_cpu[] = {{"--threads", o.threads.has_value()},
                {"--path", o.path.has_value()},
                {"--profile", o.profile.has_value()},
                {"--peaks", o.peaks}};
  for (const auto& option : of_cpu) {
    if (option.given) {
      return absl::InvalidArgumentError(
          absl::StrCat(option.name, " is of the CPU, expected with --device cpu, found --device ",
                       o.device, "; a GPU takes --batch, --kernels and --precision"));
    }
  }
  if (!o.batches.empty() && o.runs == 0) {
    return absl::InvalidArgumentError("--batch is of passes: expected --runs of 1 or more");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const Options& options, bool gpu) {
  return gpu ? CheckGpu(options) : CheckCpu(options);
}

}  // namespace scanline::bench
