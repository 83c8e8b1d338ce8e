#include "server/health_service.h"

#include <optional>
#include <utility>

namespace scanline {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

namespace {

constexpr const char* kReadyNames[] = {"", "scanline.v1.VideoService", "scanline.v1.ModelService"};

}  // namespace

// One Watch stream: at most one message under way and the latest status behind it. All of its state
// is guarded by the service's lock, and gRPC is called while it is held: the reactor's calls only
// queue work.
class HealthWatch final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  HealthWatch(HealthService* service, std::string name)
      : service_(service), name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  // The service's lock is held in these two.
  void Send(ServingStatus status) {
    if (finished_ || (!writing_ && sent_ == status)) return;
    next_ = status;
    WriteNext();
  }
  void End(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    Finish(status);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(service_->mu_);
    writing_ = false;
    if (!ok) return End(grpc::Status(grpc::StatusCode::CANCELLED, "the watch was broken off"));
    WriteNext();
  }
  void OnCancel() override {
    const MutexLock lock(service_->mu_);
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the client ended the watch"));
  }
  void OnDone() override {
    service_->Forget(this);
    delete this;
  }

 private:
  void WriteNext() {
    if (writing_ || finished_ || !next_.has_value() || next_ == sent_) return;
    sent_ = std::exchange(next_, std::nullopt);
    message_.set_status(*sent_);
    writing_ = true;
    StartWrite(&message_);
  }

  HealthService* const service_;
  const std::string name_;
  HealthCheckResponse message_;
  std::optional<ServingStatus> sent_;
  std::optional<ServingStatus> next_;
  bool writing_ = false;
  bool finished_ = false;
};

HealthService::HealthService() {
  for (const char* const name : kReadyNames) statuses_[name] = HealthCheckResponse::NOT_SERVING;
  statuses_["startup"] = HealthCheckResponse::NOT_SERVING;
  statuses_["liveness"] = HealthCheckResponse::SERVING;
}

void HealthService::SetServing(bool serving) {
  const MutexLock lock(mu_);
  const Status status = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  for (const char* const name : kReadyNames) statuses_[name] = status;
  if (serving) statuses_["startup"] = HealthCheckResponse::SERVING;
  for (HealthWatch* const watch : watches_) watch->Send(StatusOf(watch->name()));
}

void HealthService::EndWatches() {
  const MutexLock lock(mu_);
  ended_ = true;
  for (HealthWatch* const watch : watches_) {
    watch->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping"));
  }
}

HealthService::Status HealthService::StatusOf(const std::string& service) const {
  const auto found = statuses_.find(service);
  return found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
}

void HealthService::Forget(HealthWatch* watch) {
  const MutexLock lock(mu_);
  watches_.erase(watch);
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const MutexLock lock(mu_);
  const Status status = StatusOf(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service"));
  } else {
    response->set_status(status);
    reactor->Finish(grpc::Status::OK);
  }
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* /*context*/, const HealthCheckRequest* request) {
  auto* const watch = new HealthWatch(this, request->service());
  const MutexLock lock(mu_);
  watches_.insert(watch);
  if (ended_) {
    watch->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping"));
  } else {
    watch->Send(StatusOf(watch->name()));
  }
  return watch;
}

}  // namespace scanline
