// scanline-service-bench: clips a second of a server that never runs out of work, beside those of
// the bare engine in this process, in turns, as one JSON line in the form that bench/service.py
// reads. While one of them works the other one waits. Clips are raw frames: nothing is decoded.

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "model/bundle.h"
#include "model/predictor.h"
#include "scanline/v1/video_service.grpc.pb.h"
#include "tests/model/noise_clip.h"

namespace scanline::bench {
namespace {

using Seconds = std::chrono::duration<double>;
using Json = nlohmann::ordered_json;

struct Options {
  std::string server;
  std::string model;
  PredictorOptions engine;
  int workers = 2;
  int callers = 0;  // 0: three a worker
  double seconds = 4;
  int rounds = 5;
};

// The first thing that went wrong in any thread.
class Failure {
 public:
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (what_.empty()) what_ = what;
  }
  std::string what() {
    const std::lock_guard lock(mutex_);
    return what_;
  }

 private:
  std::mutex mutex_;
  std::string what_;
};

// Calls `once(thread)` on each of `threads` until `seconds` have passed or it says false: calls a
// second, each counted where it began in time, to the moment when the last one ended.
double Rate(int threads, double seconds, const std::function<bool(int)>& once) {
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
  std::atomic<int> done{0};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      while (std::chrono::steady_clock::now() < end && once(i)) ++done;
    });
  }
  for (std::thread& thread : running) thread.join();
  return done / Seconds(std::chrono::steady_clock::now() - begin).count();
}

v1::AnalyzeClipRequest RequestOf(const Clip& clip, const ModelConfig& config) {
  v1::AnalyzeClipRequest request;
  v1::RawFrames& frames = *request.mutable_frames();
  frames.set_count(static_cast<uint32_t>(config.backbone.frames));
  frames.set_width(static_cast<uint32_t>(clip.width));
  frames.set_height(static_cast<uint32_t>(clip.height));
  frames.set_rgb(clip.pixels.data(), clip.pixels.size());
  request.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  return request;
}

class Bench {
 public:
  explicit Bench(Options options) : options_(std::move(options)) {
    if (options_.callers == 0) options_.callers = 3 * options_.workers;
  }

  absl::Status Prepare() {
    const auto bundle = ModelBundle::Load(options_.model);
    if (!bundle.ok()) return bundle.status();
    const ModelConfig& config = (*bundle)->config();
    clip_ = testing::NoiseClip(config, config.backbone.frames, /*views=*/1, /*seed=*/1);
    request_ = RequestOf(clip_, config);
    for (int i = 0; i < options_.workers; ++i) {
      auto predictor = Predictor::Create(*bundle, options_.engine);
      if (!predictor.ok()) return predictor.status();
      predictors_.push_back(*std::move(predictor));
    }
    for (int i = 0; i < options_.callers; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt("caller", i);  // A connection each.
      stubs_.push_back(v1::VideoService::NewStub(grpc::CreateCustomChannel(
          options_.server, grpc::InsecureChannelCredentials(), arguments)));
    }
    return absl::OkStatus();
  }

  double Engine(double seconds) {
    return Rate(options_.workers, seconds, [&](int thread) {
      const Cancel cancel;
      const PredictItem item{.clip = &clip_, .cancel = &cancel};
      const auto result = std::move(predictors_[thread]->Predict({&item, 1})[0]);
      if (!result.ok()) failure_.Note(result.status().ToString());
      return result.ok();
    });
  }

  double Service(double seconds) {
    return Rate(options_.callers, seconds, [&](int thread) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
      v1::AnalyzeClipResponse response;
      const grpc::Status status = stubs_[thread]->AnalyzeClip(&context, request_, &response);
      if (!status.ok()) failure_.Note(status.error_message());
      return status.ok();
    });
  }

  absl::StatusOr<Json> Run() {
    constexpr double kWarmUp = 1;
    Engine(kWarmUp);
    Service(kWarmUp);
    Json engine = Json::array();
    Json service = Json::array();
    for (int round = 0; round < options_.rounds; ++round) {
      engine.push_back(Engine(options_.seconds));
      service.push_back(Service(options_.seconds));
    }
    if (!failure_.what().empty()) return absl::InternalError(failure_.what());
    const auto info = ResolveEngine(options_.engine);
    if (!info.ok()) return info.status();
    return Json{{"device", info->device},
                {"kernel", info->kernel},
                {"precision", info->precision},
                {"threads", info->threads},
                {"workers", options_.workers},
                {"callers", options_.callers},
                {"clip_bytes", clip_.pixels.size()},
                {"engine_clips_per_s", engine},
                {"service_clips_per_s", service}};
  }

 private:
  Options options_;
  Clip clip_;
  v1::AnalyzeClipRequest request_;
  std::vector<std::unique_ptr<Predictor>> predictors_;
  std::vector<std::unique_ptr<v1::VideoService::Stub>> stubs_;
  Failure failure_;
};

int Main(int argc, char** argv) {
  Options o;
  CLI::App app(
      "Clips a second of a busy server beside the bare engine; bench/service.py calls it.");
  app.add_option("--server", o.server, "address of a server with this model, HOST:PORT")
      ->required();
  app.add_option("--model", o.model, "model folder")->required();
  app.add_option("--workers", o.workers, "as the server has")->check(CLI::Range(1, 1024));
  app.add_option("--threads", o.engine.threads, "as the server has")->check(CLI::Range(1, 1024));
  app.add_option("--kernel", o.engine.kernel, "as the server has");
  app.add_option("--precision", o.engine.precision, "as the server has");
  app.add_option("--callers", o.callers, "calls at a time; 0: three a worker");
  app.add_option("--seconds", o.seconds, "of each turn")->check(CLI::Range(0.1, 3600.0));
  app.add_option("--rounds", o.rounds, "turns of each")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  Bench bench(o);
  absl::Status status = bench.Prepare();
  if (status.ok()) {
    const absl::StatusOr<Json> line = bench.Run();
    if (line.ok()) std::cout << line->dump() << '\n';
    status = line.status();
  }
  if (!status.ok()) std::cerr << "scanline-service-bench: " << status.message() << '\n';
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace scanline::bench

int main(int argc, char** argv) { return scanline::bench::Main(argc, argv); }
