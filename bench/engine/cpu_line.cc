#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/line.h"
#include "bench/engine/passes.h"
#include "bench/engine/peaks.h"
#include "model/heads.h"
#include "model/patches.h"
#include "model/tensor_ops.h"

namespace scanline::bench {
namespace {

Json JsonOf(const Latency& latency) {
  Json json = JsonOf(latency.timing);
  const Memory& memory = latency.memory;
  json["memory"] = {{"activations_mb", memory.activations_mb},
                    {"after_2_mb", memory.after_2_mb},
                    {"after_all_mb", memory.after_all_mb},
                    {"peak_mb", memory.peak_mb},
                    {"passes", memory.passes}};
  const Shares& shares = latency.shares;
  json["shares"] = {{"products", shares.products},
                    {"scan", shares.scan},
                    {"conv", shares.conv},
                    {"other", shares.other},
                    {"waiting", shares.waiting}};
  return json;
}

Json PathsHere() {
  Json paths = Json::array();
  for (const std::string& name : KernelNames()) {
    if (FindKernels(name)->runs_here()) paths.push_back(name);
  }
  return paths;
}

absl::StatusOr<PassPlan> PlanOf(const Options& o) {
  PassPlan plan = {.threads = o.threads.value_or(2), .runs = o.runs};
  const std::string path = o.path.value_or("auto");
  plan.kernels = path == "auto" ? &BestKernels() : FindKernels(path);
  if (plan.kernels == nullptr || !plan.kernels->runs_here()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected --path auto or one of ", PathsHere().dump(), " here, found ", path));
  }
  if (o.precision == "bf16") {
    if (plan.kernels->packed_linear_bf16 == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("precision bf16 needs path avx512_bf16, found ", plan.kernels->name));
    }
    plan.precision = Precision::kBf16;
  }
  return plan;
}

absl::StatusOr<Json> ErrorsOf(const PassPlan& plan) {
  const ForwardOf forward = [&](const ModelConfig& model, const Weights& weights,
                                const float* video) {
    Backbone backbone(model.backbone, weights, *plan.kernels, {.precision = plan.precision});
    ClassHead head(backbone.config(), model.classify, weights);
    PatchesFromVideo(video, model.backbone, backbone.patches());
    return head.Run(backbone.Run(Backbone::Rows::kCls));
  };
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<Error> errors, MeasureErrors(forward));
  Json json = Json::array();
  for (const Error& error : errors) json.push_back(JsonOf(error));
  return json;
}

Json PeaksOf(const BackboneConfig& config, const PassPlan& plan) {
  FmaPeak fma;
  double scan_ns = HUGE_VAL;
  constexpr int kTurns = 20;  // of both, since the clock changes with what else runs
  for (int turn = 0; turn < kTurns; ++turn) {
    MeasureFma(plan.threads, &fma);
    scan_ns = std::min(scan_ns, MeasureScan(config, *plan.kernels, 5));
  }
  return {{"peaks",
           {{"fma_ns_256", fma.ns_256},
            {"fma_ns_512", fma.ns_512},
            {"gflops_256", fma.gflops_256},
            {"gflops_512", fma.gflops_512},
            {"triad_gb_s", MeasureTriad(plan.threads)}}},
          {"scan_ns", scan_ns}};
}

absl::Status AddPasses(const Options& o, const PassPlan& plan, Json* line) {
  SCANLINE_ASSIGN_OR_RETURN(const auto subject, MakeSubject(o.model, o.frames, o.layers));
  const BackboneConfig& config = subject->config.backbone;
  const std::string profile = o.profile.value_or("both");
  AddSizes(config, line);
  if (profile != "throughput") {
    const Latency latency = MeasureLatency(*subject, plan);
    (*line)["latency"] = JsonOf(latency);
    (*line)["logits"] = latency.logits;
  }
  if (profile != "latency") (*line)["throughput"] = JsonOf(MeasureThroughput(*subject, plan));
  if (o.peaks) line->update(PeaksOf(config, plan));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> CpuLine(const Options& options) {
  SCANLINE_ASSIGN_OR_RETURN(const PassPlan plan, PlanOf(options));
  UseThreads(1);  // Torch's own, in the class head
  Json line = BeginLine(options, plan.kernels->name, plan.precision);
  line.update({{"batch", 1}, {"threads", plan.threads}, {"paths_here", PathsHere()}});
  if (options.runs > 0) SCANLINE_RETURN_IF_ERROR(AddPasses(options, plan, &line));
  if (!options.vectors.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(line["errors"], ErrorsOf(plan));
  }
  return line;
}

}  // namespace scanline::bench
