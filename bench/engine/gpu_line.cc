#include "base/status_macros.h"
#include "bench/engine/gpu_kernels.h"
#include "bench/engine/gpu_passes.h"
#include "bench/engine/line.h"
#include "model/tensor_ops.h"

namespace scanline::bench {
namespace {

// Of the special-function unit: results a clock and multiprocessor, of every chip since sm_80.
constexpr double kFunctionsAClock = 16;

// What the engine owes on a GPU, of every stored model.
constexpr double kMostRelL2 = 1e-5;      // fp32
constexpr double kLeastCosine = 0.9995;  // bf16, and the same top class

bool IsGood(const Error& error, Precision precision) {
  if (precision == Precision::kFp32) return error.rel_l2 <= kMostRelL2;
  return error.cosine >= kLeastCosine && error.same_top1;
}

bool IsVideoMamba(const MixerConfig& mixer) {
  return !mixer.shared && mixer.scan_input == MixerConfig::ScanInput::kConv &&
         mixer.init == MixerConfig::Init::kZero && !mixer.mask_backward &&
         mixer.residual == MixerConfig::Residual::kNone && mixer.gate;
}

Json JsonOf(const Chip& chip) {
  return {{"name", chip.name},
          {"multiprocessors", chip.multiprocessors},
          {"clock_ghz", 1e-9 * chip.clock_hz},
          {"mufu_g_s", 1e-9 * kFunctionsAClock * chip.multiprocessors * chip.clock_hz},
          {"gb_s", 1e-9 * chip.bytes_per_s}};
}

// Shares are of what the chip can do; there are none where the driver does not say what that is.
Json JsonOf(const KernelTime& kernel, int batch, const Chip& chip) {
  Json json = {{"kernel", kernel.kernel}, {"batch", batch}, {"us", kernel.us}};
  const double seconds = 1e-6 * kernel.us;
  const double functions = kFunctionsAClock * chip.multiprocessors * chip.clock_hz;
  if (functions > 0) json["mufu_share"] = kernel.functions / seconds / functions;
  if (chip.bytes_per_s > 0) json["bandwidth_share"] = kernel.bytes / seconds / chip.bytes_per_s;
  if (kernel.kernel == "scan") json["ns_per_element"] = 1e9 * seconds / kernel.functions;
  return json;
}

absl::Status AddPasses(const Options& o, const GpuPlan& plan, const Subject& subject, Json* line) {
  const std::vector<int> batches = o.batches.empty() ? std::vector<int>{1} : o.batches;
  SCANLINE_ASSIGN_OR_RETURN(const GpuPasses passes, MeasureBatches(subject, plan, batches));
  Json speeds = Json::array();
  for (const BatchSpeed& speed : passes.speed) {
    Json json = {{"batch", speed.batch}};
    json.update(JsonOf(speed.timing));
    json["same_bits"] = speed.same_bits;
    speeds.push_back(std::move(json));
  }
  line->update({{"speed", speeds}, {"logits", passes.logits}});
  return absl::OkStatus();
}

absl::Status AddKernels(const Options& o, const GpuPlan& plan, const Subject& subject,
                        const Chip& chip, Json* line) {
  const BackboneConfig& config = subject.config.backbone;
  if (!IsVideoMamba(config.mixer)) {
    return absl::InvalidArgumentError(
        "--kernels measures those of the mixer videomamba; the bundle has another");
  }
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<KernelTime> kernels,
                            MeasureKernels(plan.device, plan.precision, config, o.kernels));
  Json json = Json::array();
  for (const KernelTime& kernel : kernels) json.push_back(JsonOf(kernel, o.kernels, chip));
  (*line)["kernels"] = json;
  return absl::OkStatus();
}

absl::StatusOr<Json> ErrorsOf(const GpuPlan& plan) {
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<Error> errors, MeasureErrors(GpuForward(plan)));
  Json json = Json::array();
  for (const Error& error : errors) {
    Json one = JsonOf(error);
    one["good"] = IsGood(error, plan.precision);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

absl::StatusOr<Json> GpuLine(const Options& options, int device) {
  const GpuPlan plan = {
      .device = device,
      .precision = options.precision == "fp32" ? Precision::kFp32 : Precision::kBf16,
      .runs = options.runs};
  SCANLINE_ASSIGN_OR_RETURN(const Chip chip, ReadChip(device));
  UseThreads(1);  // Torch's own, in the class head
  Json line = BeginLine(options, "cuda", plan.precision);
  line["chip"] = JsonOf(chip);
  if (options.runs > 0 || options.kernels > 0) {
    SCANLINE_ASSIGN_OR_RETURN(const auto subject,
                              MakeSubject(options.model, options.frames, options.layers));
    AddSizes(subject->config.backbone, &line);
    if (options.runs > 0) SCANLINE_RETURN_IF_ERROR(AddPasses(options, plan, *subject, &line));
    if (options.kernels > 0) {
      SCANLINE_RETURN_IF_ERROR(AddKernels(options, plan, *subject, chip, &line));
    }
  }
  if (!options.vectors.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(line["errors"], ErrorsOf(plan));
  }
  return line;
}

}  // namespace scanline::bench
