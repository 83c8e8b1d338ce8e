#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace scanline {

class HealthWatch;

// grpc.health.v1. Services: "" and the full names of our services are SERVING while requests are
// taken; "startup" from the first moment that they are, also later while draining; "liveness" as
// long as the process answers. Own rather than gRPC's, whose open Watch streams hold up a shutdown
// until its deadline, and which reflection cannot describe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  HealthService();

  void SetServing(bool serving);
  void EndWatches();  // ends every stream, and those that begin later

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  friend class HealthWatch;
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  Status StatusOf(const std::string& service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Forget(HealthWatch* watch);

  Mutex mu_;
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mu_);
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace scanline
