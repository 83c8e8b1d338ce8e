// scanline-gpu-bench: the CUDA engine on this machine's GPU, as one JSON line: how far it is from
// the reference vectors, whether an answer depends on its batch, clips a second, and each kernel
// alone beside what the chip can do. bench/gpu_day.sh runs all of it. Exit 3: there is no GPU.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/cuda/cublas_lt.h"
#include "model/cuda/cuda_backbone.h"
#include "model/cuda/cuda_status.h"
#include "model/cuda/gemm.h"
#include "model/cuda/memory.h"
#include "model/heads.h"
#include "tests/model/generator.h"
#include "tests/model/stored_model.h"

namespace scanline::bench {
namespace {

using Json = nlohmann::ordered_json;
using cuda::Element;

constexpr uint64_t kSeed = 1;
constexpr int kNoGpu = 3;

// OpenGVLab/VideoMamba, models/videomamba.py.
ModelConfig Official(const std::string& name, int frames) {
  static const std::map<std::string, std::pair<int, int>> sizes = {
      {"tiny", {192, 24}}, {"small", {384, 24}}, {"middle", {576, 32}}};
  const auto [dim, depth] = sizes.at(name);
  ModelConfig config;
  config.backbone.embed_dim = dim;
  config.backbone.depth = depth;
  config.backbone.dt_rank = (dim + 15) / 16;
  config.backbone.frames = frames;
  config.mean = {0.485F, 0.456F, 0.406F};
  config.std = {0.229F, 0.224F, 0.225F};
  config.classify.labels.resize(400);
  return config;
}

absl::StatusOr<std::unique_ptr<CudaBackbone>> Open(int device, const ModelConfig& config,
                                                   const Weights& weights,
                                                   const std::string& precision) {
  return CudaBackbone::Create(device, config, weights,
                              precision == "fp32" ? Element::kFloat32 : Element::kBfloat16);
}

absl::StatusOr<Json> ErrorOf(const std::string& name, int device, const std::string& precision) {
  const testing::SafetensorsFile file = testing::ReadReference(name);
  const bool stored = name.rfind("model_", 0) == 0;
  ModelConfig model;
  Weights weights;
  std::vector<float> video;
  if (stored) {
    weights = testing::WeightsUnder(file, "model.");
    model.backbone = testing::StoredConfig(file, weights);
    model.classify.labels.resize(static_cast<size_t>(weights.Get("head.bias").size()));
    model.std = {1, 1, 1};
    video = testing::Floats(file.at("input"));
  } else {
    model = testing::RealConfig(file);
    model.std = {1, 1, 1};
    weights = testing::GenerateWeights(model, testing::RealSeed(file));
    const BackboneConfig& c = model.backbone;
    video = testing::Generate("input", {1, 3, c.frames, c.size, c.size}, testing::RealSeed(file));
  }
  SCANLINE_ASSIGN_OR_RETURN(auto gpu, Open(device, model, weights, precision));
  std::vector<float> cls(model.backbone.embed_dim);
  const ViewInput view{.video = video.data()};
  SCANLINE_RETURN_IF_ERROR(gpu->Run({&view, 1}, model.backbone, false, cls.data()));
  const std::vector<float> got = ClassHead(model.backbone, model.classify, weights).Run(cls.data());
  std::vector<double> want;
  if (stored) {
    const std::vector<float> floats = testing::Floats(file.at("logits"));
    want.assign(floats.begin(), floats.begin() + static_cast<ptrdiff_t>(got.size()));
  } else {
    want = file.at("logits_fp64").values<double>();
  }
  double difference = 0, squares = 0, own = 0, dot = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    squares += want[i] * want[i];
    own += double{got[i]} * got[i];
    dot += want[i] * got[i];
  }
  const bool same = std::max_element(got.begin(), got.end()) - got.begin() ==
                    std::max_element(want.begin(), want.end()) - want.begin();
  const double rel_l2 = std::sqrt(difference / squares);
  const double cosine = dot / std::sqrt(squares * own);
  const bool good = precision == "fp32" ? rel_l2 <= 1e-5 : cosine >= 0.9995 && same;
  return Json{{"model", name},    {"precision", precision}, {"rel_l2", rel_l2},
              {"cosine", cosine}, {"same_top1", same},      {"good", good}};
}

absl::StatusOr<Json> Errors(int device) {
  std::vector<std::string> names = testing::StoredModels();
  for (const std::string& name : testing::ReferenceNames({"model_", "real_"})) {
    if (name.rfind("real_", 0) == 0) names.push_back(name);
  }
  Json errors = Json::array();
  for (const std::string& name : names) {
    for (const char* precision : {"fp32", "bf16"}) {
      SCANLINE_ASSIGN_OR_RETURN(Json error, ErrorOf(name, device, precision));
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

// Pictures of noise, each view another stretch of them.
struct Clips {
  Clips(const BackboneConfig& config, int views) {
    const size_t picture = size_t{3} * config.size * config.size;
    pixels.resize(picture * (config.frames + views));
    uint32_t state = 1;
    for (uint8_t& value : pixels) {
      state = state * 1664525 + 1013904223;
      value = static_cast<uint8_t>(state >> 24);
    }
    for (int v = 0; v < views; ++v) {
      ViewInput input;
      for (int i = 0; i < config.frames; ++i) input.pictures.push_back(&pixels[(v + i) * picture]);
      inputs.push_back(std::move(input));
    }
  }
  std::vector<uint8_t> pixels;
  std::vector<ViewInput> inputs;
};

double Seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Clips a second from pictures in host memory to cls tokens in host memory, and whether every view
// of the batch has the bits that it has alone.
absl::StatusOr<Json> Speed(CudaBackbone& gpu, const BackboneConfig& config, int batch, int runs) {
  const Clips clips(config, batch);
  const size_t dim = config.embed_dim;
  std::vector<float> cls(batch * dim);
  std::vector<double> seconds;
  for (int run = -3; run < runs; ++run) {  // kernels, then graphs, then once more
    const double start = Seconds();
    SCANLINE_RETURN_IF_ERROR(gpu.Run(clips.inputs, config, false, cls.data()));
    if (run >= 0) seconds.push_back(Seconds() - start);
  }
  bool same = true;
  std::vector<float> alone(dim);
  for (int v : {0, batch / 2, batch - 1}) {
    SCANLINE_RETURN_IF_ERROR(gpu.Run({&clips.inputs[v], 1}, config, false, alone.data()));
    same = same && std::memcmp(alone.data(), &cls[v * dim], dim * sizeof(float)) == 0;
  }
  std::sort(seconds.begin(), seconds.end());
  const double middle = seconds[seconds.size() / 2];
  return Json{{"batch", batch},
              {"pass_ms", 1e3 * middle},
              {"best_ms", 1e3 * seconds.front()},
              {"clips_per_s", batch / middle},
              {"us_per_clip", 1e6 * middle / batch},
              {"same_bits", same}};
}

struct Chip {
  int multiprocessors = 0;
  double clock_hz = 0;
  double bytes_per_s = 0;
};

Chip ChipOf(int device) {
  const auto read = [&](cudaDeviceAttr what) {
    int value = 0;
    cudaDeviceGetAttribute(&value, what, device);
    return value;
  };
  return {read(cudaDevAttrMultiProcessorCount), 1e3 * read(cudaDevAttrClockRate),
          2e3 * read(cudaDevAttrMemoryClockRate) * read(cudaDevAttrGlobalMemoryBusWidth) / 8};
}

// The kernels of one block for a batch, each alone on zeros.
class BlockKernels {
 public:
  BlockKernels(int device, const BackboneConfig& config, int batch)
      : chip_(ChipOf(device)), config_(config), batch_(batch) {}

  absl::StatusOr<Json> Measure() {
    SCANLINE_RETURN_IF_ERROR(cuda::MakeStream(&stream_));
    const size_t inner = config_.d_inner();
    const double rows = double{1} * batch_ * config_.tokens();
    const double bytes = 2 * rows * inner;  // of one [rows][inner] in bf16
    const double bc = 4 * rows * 2 * config_.d_state;
    SCANLINE_RETURN_IF_ERROR(memory_.Reserve(static_cast<size_t>(12 * bytes + 4 * bc) + 65536));
    SCANLINE_RETURN_IF_ERROR(weights_.Reserve(inner * 1024));
    Json kernels = Json::array();
    SCANLINE_ASSIGN_OR_RETURN(Json scan,
                              Time("scan", [&] { return LaunchScan(Scan(), Stream()); }));
    // One exponential a channel, state, token and direction.
    const double exps = 2 * rows * inner * config_.d_state;
    scan["mufu_share"] = exps / Of(scan) / (16.0 * chip_.multiprocessors * chip_.clock_hz);
    scan["ns_per_element"] = 1e9 * Of(scan) / exps;
    AddBandwidth(6 * bytes + 2 * bc, &scan);
    kernels.push_back(std::move(scan));
    SCANLINE_ASSIGN_OR_RETURN(Json gate,
                              Time("gate", [&] { return LaunchGate(Gate(), Stream()); }));
    AddBandwidth(4 * bytes, &gate);
    kernels.push_back(std::move(gate));
    SCANLINE_ASSIGN_OR_RETURN(Json project,
                              Time("project", [&] { return LaunchProject(Project(), Stream()); }));
    AddBandwidth(5 * bytes + 2 * bc, &project);
    kernels.push_back(std::move(project));
    SCANLINE_ASSIGN_OR_RETURN(Json norm,
                              Time("add_norm", [&] { return LaunchAddNorm(Norm(), Stream()); }));
    AddBandwidth(6 * rows * config_.embed_dim, &norm);
    kernels.push_back(std::move(norm));
    return kernels;
  }

 private:
  CUstream_st* Stream() const { return stream_.get(); }
  static double Of(const Json& kernel) { return 1e-6 * kernel.at("us").get<double>(); }
  void AddBandwidth(double bytes, Json* kernel) const {
    (*kernel)["bandwidth_share"] = bytes / Of(*kernel) / chip_.bytes_per_s;
  }

  absl::StatusOr<Json> Time(const char* name, const std::function<int()>& launch) {
    constexpr int kRuns = 20;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaEventCreate(&begin), "an event"));
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaEventCreate(&end), "an event"));
    const cuda::EventPtr owners[] = {cuda::EventPtr(begin), cuda::EventPtr(end)};
    for (int i = 0; i < 3; ++i) SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(launch(), name));
    cudaEventRecord(begin, Stream());
    for (int i = 0; i < kRuns; ++i) SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(launch(), name));
    cudaEventRecord(end, Stream());
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaEventSynchronize(end), name));
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    return Json{{"kernel", name}, {"batch", batch_}, {"us", 1e3 * ms / kRuns}};
  }

  // Buffer i of [rows][inner] in bf16; those of B and C stand behind them.
  uint8_t* At(int i) const {
    const size_t bytes = size_t{2} * batch_ * config_.tokens() * config_.d_inner();
    return memory_.get() + i * ((bytes + 255) / 256 * 256);
  }
  float* Bc(int i) const {
    const size_t floats = size_t{2} * batch_ * config_.tokens() * config_.d_state;
    return reinterpret_cast<float*>(At(10)) + i * ((floats + 63) / 64 * 64);
  }
  const float* Floats() const { return reinterpret_cast<const float*>(weights_.get()); }

  cuda::Scan Scan() {
    const auto direction = [&](int i) {
      return cuda::ScanDirection{
          .u = At(i), .dt = At(2 + i), .bc = Bc(i), .a = Floats(), .d = Floats(), .y = At(4 + i)};
    };
    cuda::Scan scan{.batch = batch_,
                    .length = config_.tokens(),
                    .inner = config_.d_inner(),
                    .state = config_.d_state,
                    .u_stride = config_.d_inner(),
                    .plan = cuda::PlanScan(config_.d_inner(), config_.tokens(), cuda::kTunedViews,
                                           chip_.multiprocessors, false),
                    .forward = direction(0),
                    .backward = direction(1)};
    const size_t bytes =
        cuda::ScanWorkspaceBytes(scan.plan, batch_, config_.d_inner(), config_.d_state);
    if (bytes > 0 && workspace_.Reserve(bytes).ok()) {
      scan.workspace = reinterpret_cast<float*>(workspace_.get());
    }
    return scan;
  }
  cuda::Gate Gate() const {
    return {.rows = batch_ * config_.tokens(),
            .inner = config_.d_inner(),
            .forward = At(4),
            .backward = At(5),
            .z = At(0),
            .z_stride = config_.d_inner(),
            .out = At(6)};
  }
  cuda::Project Project() const {
    const auto direction = [&](int i) {
      return cuda::ProjectDirection{.conv_weight = Floats(),
                                    .conv_bias = Floats(),
                                    .x_proj = weights_.get(),
                                    .dt_proj = weights_.get(),
                                    .dt_bias = Floats(),
                                    .c = At(4 + i),
                                    .dt = At(6 + i),
                                    .bc = Bc(i)};
    };
    return {.batch = batch_,
            .length = config_.tokens(),
            .inner = config_.d_inner(),
            .rank = config_.dt_rank,
            .state = config_.d_state,
            .x = At(0),
            .x_stride = ptrdiff_t{2} * config_.d_inner(),
            .forward = direction(0),
            .backward = direction(1)};
  }
  cuda::AddNorm Norm() const {
    return {.batch = batch_,
            .length = config_.tokens(),
            .rows = config_.tokens(),
            .dim = config_.embed_dim,
            .residual = reinterpret_cast<const float*>(At(0)),
            .weight = Floats(),
            .out = At(4)};
  }

  Chip chip_;
  BackboneConfig config_;
  int batch_;
  cuda::StreamPtr stream_;
  cuda::DeviceMemory memory_;
  cuda::DeviceMemory weights_;
  cuda::DeviceMemory workspace_;
};

struct Options {
  int device = 0;
  std::string vectors;
  std::string model = "tiny";
  std::string precision = "bf16";
  int frames = 8;
  std::vector<int> batches;
  int runs = 10;
  int kernels = 0;
};

absl::StatusOr<Json> Run(const Options& o) {
  cudaDeviceProp properties{};
  SCANLINE_RETURN_IF_ERROR(
      cuda::CudaStatus(cudaGetDeviceProperties(&properties, o.device), "reading its properties"));
  SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaSetDevice(o.device), "choosing the device"));
  Json line = {{"gpu", properties.name}};
  if (!o.vectors.empty()) {
    setenv("SCANLINE_REFERENCE_DIR", o.vectors.c_str(), 1);
    SCANLINE_ASSIGN_OR_RETURN(line["errors"], Errors(o.device));
  }
  line.update({{"model", o.model}, {"frames", o.frames}, {"precision", o.precision}});
  const ModelConfig model = Official(o.model, o.frames);
  if (!o.batches.empty()) {
    const Weights weights = testing::GenerateWeights(model, kSeed);
    SCANLINE_ASSIGN_OR_RETURN(auto gpu, Open(o.device, model, weights, o.precision));
    line["speed"] = Json::array();
    for (int batch : o.batches) {
      SCANLINE_ASSIGN_OR_RETURN(Json speed, Speed(*gpu, model.backbone, batch, o.runs));
      line["speed"].push_back(std::move(speed));
    }
  }
  if (o.kernels > 0) {
    BlockKernels kernels(o.device, model.backbone, o.kernels);
    SCANLINE_ASSIGN_OR_RETURN(line["kernels"], kernels.Measure());
  }
  return line;
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("The CUDA engine on this machine's GPU, as a JSON line");
  app.add_option("--device", o.device, "CUDA device [0]")->check(CLI::NonNegativeNumber);
  app.add_option("--check-vectors", o.vectors, "the error against the vectors of this folder");
  app.add_option("--model", o.model, "[tiny]")->check(CLI::IsMember({"tiny", "small", "middle"}));
  app.add_option("--frames", o.frames, "[8]")->check(CLI::PositiveNumber);
  app.add_option("--precision", o.precision, "[bf16]")->check(CLI::IsMember({"bf16", "fp32"}));
  app.add_option("--batch", o.batches, "clips a second with so many clips at once; repeatable")
      ->check(CLI::PositiveNumber);
  app.add_option("--runs", o.runs, "timed passes [10]")->check(CLI::PositiveNumber);
  app.add_option("--kernels", o.kernels, "each kernel alone, for so many clips")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const cuda::CudaSystem system = FindCuda();
  if (o.device >= system.devices) {
    std::cerr << "scanline-gpu-bench: there is no CUDA device " << o.device << " here: "
              << (system.devices == 0 ? system.why_none : absl::StrCat(system.devices, " devices"))
              << "\n";
    return kNoGpu;
  }
  try {
    const absl::StatusOr<Json> line = Run(o);
    if (line.ok()) {
      std::cout << line->dump() << "\n";
      return 0;
    }
    std::cerr << "scanline-gpu-bench: " << line.status().message() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "scanline-gpu-bench: " << error.what() << "\n";
  }
  return 1;
}

}  // namespace
}  // namespace scanline::bench

int main(int argc, char** argv) { return scanline::bench::Main(argc, argv); }
