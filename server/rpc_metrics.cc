#include "server/rpc_metrics.h"

#include <grpcpp/server_context.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace scanline {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

std::string TypeName(ServerRpcInfo::Type type) {
  switch (type) {
    case ServerRpcInfo::Type::UNARY:
      return "unary";
    case ServerRpcInfo::Type::CLIENT_STREAMING:
      return "client_stream";
    case ServerRpcInfo::Type::SERVER_STREAMING:
      return "server_stream";
    case ServerRpcInfo::Type::BIDI_STREAMING:
      return "bidi_stream";
  }
  return "unknown";
}

// "NotFound" of 5, as the common middleware writes it, so that public dashboards fit.
std::string CodeName(grpc::StatusCode code) {
  if (code == grpc::StatusCode::OK) return "OK";
  std::string name;
  const std::string snake = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  for (const absl::string_view word : absl::StrSplit(snake, '_')) {
    absl::StrAppend(&name, word.substr(0, 1), absl::AsciiStrToLower(word.substr(1)));
  }
  return name;
}

// "/scanline.v1.VideoService/AnalyzeClip"
RpcName NameOf(const ServerRpcInfo& info) {
  const std::vector<std::string> parts = absl::StrSplit(info.method(), '/');
  if (parts.size() != 3) return {"unknown", "unknown", TypeName(info.type())};
  return {parts[1], parts[2], TypeName(info.type())};
}

class RpcRecorder final : public Interceptor {
 public:
  // gRPC keeps `info` for as long as the call, and so longer than this.
  RpcRecorder(ServerRpcInfo& info, Metrics* metrics)
      : info_(info), name_(NameOf(info)), metrics_(metrics), start_(absl::Now()) {
    metrics_->RecordRpcStarted(name_);
  }
  ~RpcRecorder() override {
    const grpc::StatusCode code = no_message_ && cancelled_ ? grpc::StatusCode::CANCELLED : code_;
    metrics_->RecordRpcHandled(name_, CodeName(code), absl::Now() - start_);
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      code_ = status.error_code();
      // gRPC's own answer to a call whose message did not come; ours have a text.
      no_message_ = code_ == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) {
      cancelled_ = info_.server_context()->IsCancelled();
    }
    methods->Proceed();
  }

 private:
  ServerRpcInfo& info_;
  const RpcName name_;
  Metrics* const metrics_;
  const absl::Time start_;
  // Written by the threads that send the status and that see the call close; read when both did.
  grpc::StatusCode code_ = grpc::StatusCode::CANCELLED;  // until a status is sent
  bool no_message_ = false;
  bool cancelled_ = false;
};

class RpcRecorderFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit RpcRecorderFactory(Metrics* metrics) : metrics_(metrics) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new RpcRecorder(*info, metrics_);
  }

 private:
  Metrics* const metrics_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeRpcMetrics(
    Metrics* metrics) {
  return std::make_unique<RpcRecorderFactory>(metrics);
}

}  // namespace scanline
