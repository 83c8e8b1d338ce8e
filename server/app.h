#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/config.h"
#include "server/health_service.h"
#include "server/metrics.h"
#include "server/model_service.h"
#include "server/ops_http.h"
#include "server/pipeline.h"
#include "server/task_thread.h"
#include "server/video_service.h"

namespace scanline {

// The whole server, parts in building order. Start listens at once; WaitReady makes it serve. The
// destructor stops whatever is left, without grace.
class App {
 public:
  static absl::StatusOr<std::unique_ptr<App>> Start(const Settings& settings,
                                                    std::vector<ModelPtr> models,
                                                    Pipeline::Decode decode);
  ~App();

  // Waits for the workers, then takes requests and says so to health checks.
  absl::Status WaitReady();

  // The steps of a graceful stop; main waits between them. docs/life_of_a_request.md, "The end".
  void SayNotServing();  // 1: balancers look elsewhere, requests are still taken
  void StopAccepting();  // 2: connections are told to go, what came in is finished
  bool Finished();       // 3: everything is answered and closed
  void CutStreams();     // 4: ends calls that hold up the stop although no work is left
  bool idle() const { return pipeline_.snapshot().inflight.requests == 0; }

  int grpc_port() const { return grpc_port_; }
  int ops_port() const { return ops_->port(); }
  int workers() const { return pipeline_.snapshot().workers; }
  Pipeline& pipeline() { return pipeline_; }
  Metrics& metrics() { return metrics_; }

 private:
  App(const Settings& settings, std::vector<ModelPtr> models, Pipeline::Decode decode);
  absl::Status Listen(const Settings& settings);
  HttpAnswer AnswerOps(const std::string& path);

  const ModelTable models_;
  Metrics metrics_;
  Pipeline pipeline_;
  HealthService health_;
  std::unique_ptr<TaskThread> upload_thread_;
  VideoService video_service_;
  ModelService model_service_;
  int grpc_port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::thread shutdown_;
  std::atomic<bool> shut_down_{false};
  std::atomic<bool> started_{false};
  std::atomic<bool> serving_{false};
  std::unique_ptr<OpsHttp> ops_;  // last: its handler uses all of the above
};

}  // namespace scanline
