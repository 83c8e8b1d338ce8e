#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "server/metrics.h"

namespace scanline {

// Counts and times every RPC of every service of the server, health and reflection included.
// `metrics` is borrowed.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeRpcMetrics(
    Metrics* metrics);

}  // namespace scanline
