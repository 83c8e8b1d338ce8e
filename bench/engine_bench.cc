// scanline-engine-bench: forward passes of a model, timed, as one JSON line in the form that
// bench/engine.py reads; on request beside what the machine can do at most, and the error of the
// logits against computation in double.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/engine/errors.h"
#include "bench/engine/passes.h"
#include "bench/engine/peaks.h"
#include "model/tensor_ops.h"

namespace scanline::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model = "tiny";
  int frames = 0;
  int layers = 0;
  int threads = 2;
  std::string path = "auto";
  std::string precision = "auto";
  std::string device = "cpu";
  int batch = 1;
  int runs = 5;
  std::string profile = "both";
  bool peaks = false;
  std::string vectors;
};

Json JsonOf(const Timing& timing) {
  return {{"pass_s", timing.pass_s},
          {"clip_s", timing.clip_s},
          {"clips_per_s", timing.clips_per_s},
          {"cpu_s", timing.cpu_s}};
}

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
  if (o.device != "cpu" || o.batch != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected --device cpu and --batch 1, found --device ", o.device, " --batch ", o.batch,
        ": the CPU takes a clip at a time, and this build has no engine for another device"));
  }
  PassPlan plan = {.threads = o.threads, .runs = o.runs};
  plan.kernels = o.path == "auto" ? &BestKernels() : FindKernels(o.path);
  if (plan.kernels == nullptr || !plan.kernels->runs_here()) {
    return absl::InvalidArgumentError(absl::StrCat("expected --path auto or one of ",
                                                   PathsHere().dump(), " here, found ", o.path));
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

Json ErrorsOf(const PassPlan& plan) {
  Json errors = Json::array();
  for (const Error& error : MeasureErrors(*plan.kernels, plan.precision)) {
    errors.push_back({{"model", error.model},
                      {"rel_l2", error.rel_l2},
                      {"rel_max", error.rel_max},
                      {"cosine", error.cosine},
                      {"same_top1", error.same_top1}});
  }
  return errors;
}

absl::StatusOr<Json> PassesOf(const Options& o, const PassPlan& plan) {
  const auto subject = MakeSubject(o.model, o.frames, o.layers);
  if (!subject.ok()) return subject.status();
  const BackboneConfig& config = (*subject)->config.backbone;
  Json json = {{"frames", config.frames},
               {"tokens", config.tokens()},
               {"layers", config.depth},
               {"embed_dim", config.embed_dim},
               {"d_state", config.d_state}};
  if (o.profile != "throughput") {
    const Latency latency = MeasureLatency(**subject, plan);
    json["latency"] = JsonOf(latency);
    json["logits"] = latency.logits;
  }
  if (o.profile != "latency") json["throughput"] = JsonOf(MeasureThroughput(**subject, plan));
  if (o.peaks) {
    FmaPeak fma;
    double scan_ns = HUGE_VAL;
    constexpr int kTurns = 20;  // of both, since the clock changes with what else runs
    for (int turn = 0; turn < kTurns; ++turn) {
      MeasureFma(o.threads, &fma);
      scan_ns = std::min(scan_ns, MeasureScan(config, *plan.kernels, 5));
    }
    json["peaks"] = {{"fma_ns_256", fma.ns_256},
                     {"fma_ns_512", fma.ns_512},
                     {"gflops_256", fma.gflops_256},
                     {"gflops_512", fma.gflops_512},
                     {"triad_gb_s", MeasureTriad(o.threads)}};
    json["scan_ns"] = scan_ns;
  }
  return json;
}

absl::StatusOr<Json> Run(const Options& o) {
  const auto plan = PlanOf(o);
  if (!plan.ok()) return plan.status();
  UseThreads(1);  // Torch's own, in the class head
  Json line = {{"model", o.model},
               {"path", plan->kernels->name},
               {"precision", plan->precision == Precision::kBf16 ? "bf16" : "fp32"},
               {"device", o.device},
               {"batch", o.batch},
               {"threads", o.threads},
               {"paths_here", PathsHere()}};
  if (o.runs > 0) {
    const auto passes = PassesOf(o, *plan);
    if (!passes.ok()) return passes.status();
    line.update(*passes);
  }
  if (!o.vectors.empty()) {
    setenv("SCANLINE_REFERENCE_DIR", o.vectors.c_str(), 1);
    line["errors"] = ErrorsOf(*plan);
  }
  return line;
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("Forward passes of a model, timed, as a JSON line");
  app.add_option("--model", o.model,
                 "tiny, small, middle, base or a bundle's folder (with a /) [tiny]");
  app.add_option("--frames", o.frames, "[8, or the bundle's]")->check(CLI::PositiveNumber);
  app.add_option("--layers", o.layers, "of an official shape; the rest is left out");
  app.add_option("--threads", o.threads, "[2]")->check(CLI::PositiveNumber);
  app.add_option("--path", o.path, "kernels: scalar, avx2, avx512, avx512_bf16 [auto]");
  app.add_option("--precision", o.precision, "of matrix products: fp32, bf16; auto is fp32 [auto]")
      ->check(CLI::IsMember({"auto", "fp32", "bf16"}));
  app.add_option("--device", o.device, "[cpu]");
  app.add_option("--batch", o.batch, "clips at once [1]");
  app.add_option("--runs", o.runs, "timed passes, of each thread; 0: none [5]");
  app.add_option("--profile", o.profile, "latency, throughput or both [both]")
      ->check(CLI::IsMember({"latency", "throughput", "both"}));
  app.add_flag("--peaks", o.peaks, "also multiply-adds, bandwidth and the scan alone");
  app.add_option("--check-vectors", o.vectors, "also the error against the vectors of this folder");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto line = Run(o);
    if (line.ok()) {
      std::cout << line->dump() << "\n";
      return 0;
    }
    std::cerr << "scanline-engine-bench: " << line.status().message() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "scanline-engine-bench: " << error.what() << "\n";
  }
  return 1;
}

}  // namespace
}  // namespace scanline::bench

int main(int argc, char** argv) { return scanline::bench::Main(argc, argv); }
